// The references that a figure is compared with: the device's own history, and its peers.
#ifndef SEXTANT_GPU_PROBE_HEALTH_REFERENCES_H_
#define SEXTANT_GPU_PROBE_HEALTH_REFERENCES_H_

#include <cstddef>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "gpu_probe/health/figures.h"
#include "gpu_probe/health/findings.h"

namespace sextant::probe {

// A device against itself.

// The most measurements that a figure is compared with.
inline constexpr size_t kHistoryLength = 5;

// The history's reference for a figure.
struct HistoryReference {
  double log_deficit = 0;  // ln(reference / judged) by the median: above 0 is slower
  double doubt = 0;        // the share that noise may account for
  bool stable = true;      // the judged figure is, and so are most of those it is compared with
  int count = 0;           // measurements in it, 1 to kHistoryLength
};

// Compares `judged` with the median of the last kHistoryLength of `older`, the same figure in
// earlier measurements, oldest first. From the sixth on, a measurement that was slower than those
// before it by more than `tolerance` is left out: otherwise a device that became slow would be its
// own norm after three measurements. Absent where none has a point in common with `judged`.
absl::optional<HistoryReference> AgainstHistory(const HealthMetric& judged,
                                                absl::Span<const HealthMetric* const> older,
                                                double tolerance);

// True where it is slower by more than `tolerance`, a share of the reference, beyond any noise.
bool IsSlowerThanHistory(const HistoryReference& reference, double tolerance);

// A device against others that should be as fast.

// With fewer peers it is not clear which one deviates.
inline constexpr size_t kMinPeerCount = 3;

// The least standard deviation assumed for figures of equal devices, even where a few peers agree
// by chance; docs/health.md derives both. The second is that of the median over a device's figures.
inline constexpr double kPeerNoise = 0.01;
inline constexpr double kOverallNoise = 0.0075;

// The peers' reference for a figure, or for the median over all figures.
struct PeerReference {
  double log_deficit = 0;  // ln(peers' median / judged): above 0 is slower
  double doubt = 0;        // the share that noise may account for
  double deviation = 0;    // of log_deficit, for a device as fast as its peers
  double z = 0;            // (log_deficit - doubt) / deviation
  bool stable = true;      // the judged figure is, and most of the peers'; of all: most figures
  int count = 0;           // peers, at least kMinPeerCount
};

struct PeerReferences {
  // One for each figure of the judged device, in its order; absent where too few peers have a point
  // in common with it.
  std::vector<absl::optional<PeerReference>> figures;
  // The median over the figures: absent below three figures.
  absl::optional<PeerReference> overall;
};

// `judged` is not one of `peers`: a slow device must neither lower the median that it is compared
// with nor widen the spread.
PeerReferences AgainstPeers(const std::vector<HealthMetric>& judged,
                            absl::Span<const std::vector<HealthMetric>* const> peers);

// True where it is slower by more than peer_tolerance, and by more than peer_z deviations.
bool IsSlowerThanPeers(const PeerReference& reference, const HealthLimits& limits);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HEALTH_REFERENCES_H_
