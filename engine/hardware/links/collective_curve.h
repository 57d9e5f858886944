// The measured times of one collective among so many ranks, by size.
#ifndef SEXTANT_ENGINE_HARDWARE_LINKS_COLLECTIVE_CURVE_H_
#define SEXTANT_ENGINE_HARDWARE_LINKS_COLLECTIVE_CURVE_H_

#include <cstddef>
#include <vector>

#include "absl/types/span.h"

namespace sextant {

struct TimeOfSize {
  double bytes = 0;
  double seconds = 0;
};

// Time against size. Between two measured sizes a collective takes a + b S: a latency and a rate
// (Thakur et al. 2005, section 2), so it is drawn as the straight line between them; on the
// published tables that missed sizes left out by less than lines in log space, splines or
// interpolated bus bandwidth did (docs/links.md). Below the smallest size the latency stays, above
// the largest the last rate. Continuous, and it never falls as bytes grow.
class CollectiveCurve {
 public:
  // At least two points, sizes ascending and apart, times positive. A time above that of a larger
  // size is disturbance, which only ever adds: the larger size's takes its place.
  explicit CollectiveCurve(std::vector<TimeOfSize> points);

  // `bytes` at or above 0.
  double SecondsAt(double bytes) const;

  // Time at the smallest size.
  double Latency() const { return points_.front().seconds; }

  absl::Span<const TimeOfSize> points() const { return points_; }

  bool Covers(double bytes) const {
    return points_.front().bytes <= bytes && bytes <= points_.back().bytes;
  }

  // What SecondsAt() would say at point `index` if that had not been measured. Not of the ends.
  double SecondsWithout(size_t index) const;

 private:
  std::vector<TimeOfSize> points_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_LINKS_COLLECTIVE_CURVE_H_
