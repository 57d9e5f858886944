// Data for programs in a failed status: the reason that clients branch on, further facts, and
// preconditions of the call.
#ifndef SEXTANT_ENGINE_BASE_REASON_H_
#define SEXTANT_ENGINE_BASE_REASON_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sextant {

// `status` with `reason`, e.g. "GPU_UNKNOWN" (UPPER_SNAKE_CASE, at most 63 characters), as a
// payload. An OK status is unchanged.
absl::Status WithReason(absl::Status status, absl::string_view reason);

// The reason of `status`; "INVARIANT_BROKEN" if it has none: an error without a reason is a bug of
// ours.
std::string ReasonOf(const absl::Status& status);

// `status` with a fact for programs, e.g. "fault" = "crashed", in place of a former one of that
// key. Line ends in the value become blanks. An OK status is unchanged.
absl::Status WithMetadata(absl::Status status, absl::string_view key, absl::string_view value);

// The facts of `status`, as key and value, in the order in which they were added.
std::vector<std::pair<std::string, std::string>> MetadataOf(const absl::Status& status);

// One condition that does not hold, as google.rpc.PreconditionFailure.Violation.
struct PreconditionViolation {
  std::string type;         // UPPER_SNAKE_CASE, e.g. "RATES_NOT_MEASURED"
  std::string subject;      // what it is about, e.g. a device's UUID
  std::string description;  // what is missing, and how to provide it

  friend bool operator==(const PreconditionViolation&, const PreconditionViolation&) = default;
};

// kFailedPrecondition with `reason` and `violations`; its message is their descriptions.
absl::Status FailedPrecondition(absl::string_view reason,
                                absl::Span<const PreconditionViolation> violations);

// The violations of `status`; empty if it has none.
std::vector<PreconditionViolation> PreconditionsOf(const absl::Status& status);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_REASON_H_
