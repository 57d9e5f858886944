// What has to hold before a call can succeed, and does not.
#ifndef SEXTANT_ENGINE_BASE_PRECONDITION_H_
#define SEXTANT_ENGINE_BASE_PRECONDITION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sextant {

// One condition that does not hold, as google.rpc.PreconditionFailure.Violation.
struct PreconditionViolation {
  std::string type;         // UPPER_SNAKE_CASE, e.g. "RATES_NOT_MEASURED"
  std::string subject;      // what it is about, e.g. a device's UUID
  std::string description;  // what is missing, and how to provide it

  friend bool operator==(const PreconditionViolation&, const PreconditionViolation&) = default;
};

// kFailedPrecondition with `reason`, carrying `violations`; its message is their descriptions.
absl::Status FailedPrecondition(absl::string_view reason,
                                absl::Span<const PreconditionViolation> violations);

// The violations that `status` carries; empty if it carries none.
std::vector<PreconditionViolation> PreconditionsOf(const absl::Status& status);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_PRECONDITION_H_
