// Figures that a measurement should have and does not.
#ifndef SEXTANT_GPU_PROBE_HEALTH_MISSING_RULE_H_
#define SEXTANT_GPU_PROBE_HEALTH_MISSING_RULE_H_

#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gpu_probe/health/finding.h"
#include "gpu_probe/health/fleet.h"

namespace sextant {

// Figures that more than half of `references` have and `judged` has not, or has without a single
// shape and library in common with any of them. Only references of modes that measure no more
// than the judged one's count. `whose` names them, e.g. "its history".
//
// CRITICAL where the measurement had time for all that it planned: the device lost what it had,
// e.g. a data type. UNKNOWN where it was cut short. Nothing in common is a WARNING.
std::vector<Finding> FindMissing(const MeasuredDevice& judged,
                                 absl::Span<const MeasuredDevice* const> references,
                                 absl::string_view whose);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_MISSING_RULE_H_
