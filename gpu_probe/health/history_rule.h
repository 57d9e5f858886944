// A device against itself.
#ifndef SEXTANT_GPU_PROBE_HEALTH_HISTORY_RULE_H_
#define SEXTANT_GPU_PROBE_HEALTH_HISTORY_RULE_H_

#include <cstddef>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "gpu_probe/health/figures.h"

namespace sextant {

// Measurements that a figure is compared with, at most.
inline constexpr size_t kHistoryLength = 5;

// What a figure is compared with.
struct HistoryReference {
  double log_deficit = 0;  // ln(reference / judged) by the median: above 0 is slower
  double doubt = 0;        // the share by which noise may account for it
  int count = 0;           // measurements in it, 1 to kHistoryLength
};

// `judged` against the median of the last kHistoryLength of `older`, the same figure in
// measurements before it, oldest first. From the sixth on, one that was itself slower than those
// before it by more than `tolerance` is not taken in: else a device that became slow would be its
// own norm after three measurements. Absent where none has a point in common with `judged`.
absl::optional<HistoryReference> AgainstHistory(const Figure& judged,
                                                absl::Span<const Figure* const> older,
                                                double tolerance);

// Slower by more than `tolerance`, a share of the reference, whatever noise did.
bool IsSlowerThanHistory(const HistoryReference& reference, double tolerance);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_HISTORY_RULE_H_
