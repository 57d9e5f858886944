// A device against others that should be as fast.
#ifndef SEXTANT_GPU_PROBE_HEALTH_PEER_RULE_H_
#define SEXTANT_GPU_PROBE_HEALTH_PEER_RULE_H_

#include <cstddef>
#include <vector>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "gpu_probe/health/figures.h"
#include "gpu_probe/health/finding.h"

namespace sextant {

// Fewer peers don't tell who of them is odd.
inline constexpr size_t kMinimumPeerCount = 3;

// The standard deviation that figures of equal devices are taken to have at least, whatever a
// few peers that happen to agree say; docs/health.md derives both. The second is that of the
// median over a device's figures.
inline constexpr double kPeerNoise = 0.01;
inline constexpr double kOverallNoise = 0.0075;

// What a figure, or the median over all figures, is compared with.
struct PeerReference {
  double log_deficit = 0;  // ln(peers' median / judged): above 0 is slower
  double doubt = 0;        // the share by which noise may account for it
  double deviation = 0;    // of log_deficit, where the device is as fast as its peers
  double z = 0;            // (log_deficit - doubt) / deviation
  int count = 0;           // peers, at least kMinimumPeerCount
};

struct PeerReferences {
  // One for each figure of the judged device, in its order; absent with too few peers that have
  // a point in common with it.
  std::vector<absl::optional<PeerReference>> figures;
  // The median over the figures: absent below three figures.
  absl::optional<PeerReference> overall;
};

// `judged` is none of `peers`: a slow device must not pull the median that it is held against,
// nor widen the spread.
PeerReferences AgainstPeers(const std::vector<Figure>& judged,
                            absl::Span<const std::vector<Figure>* const> peers);

// Slower by more than peer_tolerance, and by more than peer_z deviations.
bool IsSlowerThanPeers(const PeerReference& reference, const HealthLimits& limits);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_PEER_RULE_H_
