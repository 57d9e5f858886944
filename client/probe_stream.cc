#include "client/probe_stream.h"

#include <grpcpp/client_context.h>

#include <memory>

#include "client/channel.h"
#include "sextant/v1/hardware_service.grpc.pb.h"

namespace sextant {

grpc::Status StreamProbe(const ServerAddress& server, const v1::RunProbeRequest& request,
                         const std::stop_token& stop,
                         const std::function<void(const v1::RunProbeResponse&)>& on_event) {
  const auto stub = v1::HardwareService::NewStub(NewChannel(server));
  grpc::ClientContext context;
  SetDeadline(server, &context);
  const auto reader = stub->RunProbe(&context, request);
  const std::stop_callback cancel(stop, [&context] { context.TryCancel(); });
  for (v1::RunProbeResponse event; reader->Read(&event);) on_event(event);
  return reader->Finish();
}

}  // namespace sextant
