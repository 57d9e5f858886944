#include "client/kubernetes/planner.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "client/io/call_error.h"

namespace sextant::client {

bool IsAway(const grpc::Status& status) {
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::FAILED_PRECONDITION:
      return false;
    default:
      return true;
  }
}

std::string FaultLine(const grpc::Status& status) {
  const CallError error = CallErrorOf(status);
  std::string out;
  for (const CallError::Violation& each : error.field_violations) {
    absl::StrAppend(&out, out.empty() ? "" : "; ", each.subject, ": ", each.description);
  }
  return out.empty() ? error.message : out;
}

bool Waits::IsOver(const std::string& uid, const std::string& since) {
  const absl::Time now = absl::Now();
  absl::Time start = first_.emplace(uid, now).first->second;
  absl::Time said;
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, since, &said, &error)) start = std::min(start, said);
  return now - start > patience_;
}

}  // namespace sextant::client
