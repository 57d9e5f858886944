// How long passes over memory take: by how much moves, and by how much of that is read.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_CURVE_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_CURVE_H_

#include "absl/container/inlined_vector.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/stream_calibration.h"

namespace sextant {

// Of one mix of reads and writes, time by bytes.
struct StreamSize {
  double log_bytes = 0;
  double log_seconds = 0;  // no less than that of fewer bytes
};

// Another mix's time over that mix's.
struct StreamMix {
  double read_share = 0.5;
  double ratio = 1;
};

//   t(R, W) = size(R + W) x mix(R / (R + W))
//
// size: linear in logarithms between measured sizes; beyond the largest in proportion to it; below
// the smallest down to the floor in proportion. mix: linear in the share, as if some of the bytes
// moved in the pattern on one side and the others in that on the other.
// Source: derived in docs/kernels_streams.md.
struct StreamCurve {
  absl::InlinedVector<StreamSize, 8> sizes;  // one or more, bytes ascending
  absl::InlinedVector<StreamMix, 4> mixes;   // one or more, shares ascending
  double floor_seconds = 0;

  // Continuous, positive, and never falling in `bytes`. Allocates nothing.
  double SecondsAt(double bytes, double read_share) const;
};

// Sizes are of the mix that most passes of `calibration` have; the other mixes of main memory
// alone. Passes of equal size and mix are one, by their geometric mean. From kCachesOutgrown of the
// cache on, where that is known, the rate is main memory's.
StreamCurve FitStreams(const StreamCalibration& calibration);

// As a probe takes its main memory: arrays of four times the last-level cache (docs/probe_host.md).
inline constexpr double kCachesOutgrown = 4;

// What a curve lacks at a size and a mix.
struct StreamLack {
  double octaves_below = 0;  // the smallest measured size
  double share_outside = 0;  // of the measured mixes
};
StreamLack LackAt(const StreamCurve& curve, double bytes, double read_share);

// What a processor's kernel takes at least: a call. A copy of 16 KiB by two threads took so long
// (docs/kernels_streams.md).
inline constexpr Seconds kProcessorFloor = Seconds(1e-7);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_CURVE_H_
