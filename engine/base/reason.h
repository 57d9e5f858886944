// The machine-readable reason that clients branch on.
#ifndef SEXTANT_ENGINE_BASE_REASON_H_
#define SEXTANT_ENGINE_BASE_REASON_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sextant {

// `status` carrying `reason`, e.g. "GPU_UNKNOWN" (UPPER_SNAKE_CASE, at most 63
// characters), as a payload. An OK status stays as it is.
absl::Status WithReason(absl::Status status, absl::string_view reason);

// The reason that `status` carries; "INVARIANT_BROKEN" if it carries none: an error
// that nobody named is a fault of ours.
std::string ReasonOf(const absl::Status& status);

// `status` carrying one more fact for programs, e.g. "fault" = "crashed". Line ends within
// the value become blanks. An OK status stays as it is.
absl::Status WithMetadata(absl::Status status, absl::string_view key, absl::string_view value);

// The facts that `status` carries, key and value, in the order in which they were added.
std::vector<std::pair<std::string, std::string>> MetadataOf(const absl::Status& status);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_REASON_H_
