// What every call has, whatever its shape: a name and series, a start, an end that is counted
// and logged.
#ifndef SEXTANT_SERVER_CALL_H_
#define SEXTANT_SERVER_CALL_H_

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "server/call_log.h"
#include "server/metrics.h"

namespace sextant {

// One RPC's name and series; lives as long as its service.
struct Method {
  Method(const std::string& full_name, Metrics& all_metrics, CallLogLevel level)
      : name(full_name), metrics(all_metrics.ForMethod(full_name)), log_level(level) {}

  const std::string name;  // "sextant.v1.PlanningService/PlanRun"
  CallMetrics metrics;
  const CallLogLevel log_level;
};

// One call under way; made when its handler starts.
class Call {
 public:
  Call(Method& method, const grpc::CallbackServerContext& context, size_t request_bytes);

  // Counts the call as ended with `status`, which is returned as it goes on the wire. Once.
  grpc::Status Count(const absl::Status& status);

  // Writes the call's line to the log, after Count().
  void Log() const;

 private:
  Method& method_;
  std::chrono::steady_clock::time_point start_;
  CallRecord record_;
};

// kInvalidArgument with reason FIELD_INVALID: the bytes are no message of this type.
absl::Status Undecodable(const std::string& type_name);

// The largest answer that is sent; clients of gRPC take no larger one unless told to.
inline constexpr size_t kMaxAnswerBytes = 4 << 20;

// kInvalidArgument with reason ANSWER_TOO_LARGE: the answer has more than kMaxAnswerBytes. Asked
// again it would have as many.
absl::Status AnswerTooLarge(size_t bytes);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CALL_H_
