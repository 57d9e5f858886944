// The time of passes over memory as a function of bytes moved and the share of reads.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_CURVE_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_CURVE_H_

#include "absl/container/inlined_vector.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/stream_calibration.h"

namespace sextant {

// Time by bytes, for one mix of reads and writes.
struct StreamSize {
  double log_bytes = 0;
  double log_seconds = 0;  // not below that of fewer bytes
};

// The time of another mix over that of the reference mix.
struct StreamMix {
  double read_share = 0.5;
  double ratio = 1;
};

//   t(R, W) = size(R + W) x mix(R / (R + W))
//
// size: linear in logarithms between measured sizes; proportional to the bytes above the largest,
// and below the smallest down to the floor. mix: linear in the share, as if some of the bytes
// moved in the pattern on one side and the rest in the pattern on the other.
// Source: derived in docs/kernels.md, "Passes over memory".
struct StreamCurve {
  absl::InlinedVector<StreamSize, 8> sizes;  // at least one, ascending by bytes
  absl::InlinedVector<StreamMix, 4> mixes;   // at least one, ascending by share
  double floor_seconds = 0;
  // The first and the last of `sizes`.
  double smallest_bytes = 0;
  double shortest_seconds = 0;
  double largest_bytes = 0;
  double longest_seconds = 0;

  // Sets what follows from `sizes`, once they are complete, and the floor: the first one's time at
  // most.
  void SetEnds(Seconds floor);

  // Continuous, positive, and nondecreasing in `bytes`. Allocates nothing.
  double SecondsAt(double bytes, double read_share) const;
};

// Sizes come from the most frequent mix in `calibration`, other mixes from main memory only.
// Passes of equal size and mix are merged by their geometric mean. From kCachesOutgrown times the
// cache on, where that is known, the rate is main memory's.
StreamCurve FitStreams(const StreamCalibration& calibration);

// The probe's rule for main memory: arrays of four times the last-level cache
// (docs/probe.md, "Processors").
inline constexpr double kCachesOutgrown = 4;

// The distance of a size and a mix from the measured ones.
struct StreamLack {
  double octaves_below = 0;  // below the smallest measured size
  double share_outside = 0;  // outside the measured mixes
};
StreamLack LackAt(const StreamCurve& curve, double bytes, double read_share);

// The minimum time of a kernel on a processor: a call. A copy of 16 KiB by two threads took this
// long (docs/kernels.md, "Passes over memory").
inline constexpr Seconds kProcessorFloor = Seconds(1e-7);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_CURVE_H_
