// Conversion of statuses to gRPC's, and the retry delay that a status carries.
#ifndef SEXTANT_SERVER_CALL_STATUS_H_
#define SEXTANT_SERVER_CALL_STATUS_H_

#include <grpcpp/support/status.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "google/rpc/status.pb.h"

namespace sextant::server {

// Returns `status` with the advice to wait for `seconds` (finite, >= 0) and try again, sent as a
// google.rpc.RetryInfo. An OK status is returned unchanged.
absl::Status WithRetryDelay(absl::Status status, double seconds);

// The advice that `status` carries, in seconds; absent where it carries none.
absl::optional<double> RetryDelaySecondsOf(const absl::Status& status);

// Returns `status` with google.rpc details: an ErrorInfo always; a BadRequest, a
// PreconditionFailure and a RetryInfo where it carries field violations, failed preconditions and a
// retry delay. The ErrorInfo's metadata are the facts that `status` carries, and `trace_id` unless
// it is empty.
//
// Beyond about 8 KB of trailers a client sees RESOURCE_EXHAUSTED instead of this status, so
// everything is bounded: message 1 KiB, details 4 KiB, at most 16 violations of either kind named,
// the rest counted.
grpc::Status ToGrpcStatus(const absl::Status& status, absl::string_view trace_id);

// The same of a part of an answer, as a message. `status` is not OK.
google::rpc::Status ToRpcStatus(const absl::Status& status, absl::string_view trace_id);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CALL_STATUS_H_
