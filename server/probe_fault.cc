#include "server/probe_fault.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/precondition.h"
#include "engine/base/reason.h"

namespace sextant {
namespace {

absl::Status Refused(const std::string& reason, const std::string& message) {
  absl::Status status = FailedPrecondition(
      "PROBE_REFUSED", {{"PROBE_REFUSED", reason, absl::StrCat("the probe refused: ", message)}});
  return WithMetadata(std::move(status), "reason", reason);
}

}  // namespace

absl::Status ProbeFault(absl::string_view fault, absl::string_view message) {
  return WithMetadata(WithReason(absl::UnavailableError(message), "PROBE_FAILED"), "fault", fault);
}

absl::Status ProbeTimeout(absl::string_view message) {
  return WithReason(absl::UnavailableError(message), "PROBE_TIMEOUT");
}

absl::Status ProbeCancelled() {
  return WithReason(absl::CancelledError("the probe was stopped before it had a result"),
                    "PROBE_CANCELLED");
}

absl::Status ProbeFailureStatus(const v1::ProbeFailure& failure) {
  const std::string message =
      failure.message().empty() ? "it did not say why: see the server's host" : failure.message();
  switch (failure.kind()) {
    case v1::ProbeFailure::KIND_REFUSED:
      return Refused(failure.reason().empty() ? "unknown" : failure.reason(), message);
    case v1::ProbeFailure::KIND_UNSUPPORTED:
      return Refused("unsupported", message);
    case v1::ProbeFailure::KIND_MISMATCH:
      return ProbeFault("mismatch",
                        absl::StrCat("a result was WRONG, do not trust this device: ", message));
    case v1::ProbeFailure::KIND_DEADLINE:
      return ProbeTimeout(absl::StrCat("the probe ran out of time: ", message));
    default:
      return ProbeFault("exited", absl::StrCat("the probe failed: ", message));
  }
}

}  // namespace sextant
