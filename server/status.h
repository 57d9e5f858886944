// The one place where a status goes on the wire.
#ifndef SEXTANT_SERVER_STATUS_H_
#define SEXTANT_SERVER_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sextant {

// `status` with google.rpc details: an ErrorInfo always; a BadRequest, a PreconditionFailure
// and a RetryInfo where it carries field violations, preconditions that do not hold, and
// advice when to try again. The ErrorInfo's metadata are the facts that `status` carries, and
// `trace_id` unless it is empty.
//
// Beyond about 8 KB of trailers a client sees RESOURCE_EXHAUSTED instead of the truth, so
// everything is bounded: message 1 KiB, details 4 KiB, at most 16 violations of either kind
// named, the rest counted.
grpc::Status ToGrpcStatus(const absl::Status& status, absl::string_view trace_id);

}  // namespace sextant

#endif  // SEXTANT_SERVER_STATUS_H_
