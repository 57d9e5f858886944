// The call that measures.
#ifndef SEXTANT_CLIENT_PROBE_STREAM_H_
#define SEXTANT_CLIENT_PROBE_STREAM_H_

#include <grpcpp/support/status.h>

#include <functional>
#include <stop_token>

#include "client/connection.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant {

// HardwareService.RunProbe: hands each message of the answer to `on_event`, in order, and
// returns once the call has ended. A request to stop, from any thread, cancels the call;
// the server then stops its probe.
grpc::Status StreamProbe(const ServerAddress& server, const v1::RunProbeRequest& request,
                         const std::stop_token& stop,
                         const std::function<void(const v1::RunProbeResponse&)>& on_event);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_PROBE_STREAM_H_
