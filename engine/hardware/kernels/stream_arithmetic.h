// How arithmetic that is no product of matrices adds to the time of what moves.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_ARITHMETIC_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_ARITHMETIC_H_

#include <cstddef>

#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/stream_calibration.h"

namespace sextant {

//   t = (m^a + c^a)^(1/a), c = F x seconds_per_flop
struct StreamArithmetic {
  double seconds_per_flop = 0;  // of fp32 multiply-adds; 0: not known, takes no time
  double softness = 2;          // a: the higher, the better the two overlap

  struct Joined {
    double seconds = 0;
    double compute_share = 0;  // c^a / (m^a + c^a)
  };
  // `memory_seconds` is above 0.
  Joined Join(double memory_seconds, double flops) const;
};

inline constexpr size_t kFewestLadderSteps = 3;

// By least squares of t^a's relative error for each a of a list, of which the one is kept whose
// times are nearest. Absent where there are fewer than kFewestLadderSteps, or where time does not
// grow with the multiply-adds.
// Source: derived in docs/kernels_streams.md.
absl::optional<StreamArithmetic> FitLadder(absl::Span<const MeasuredElementwise> measured);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_ARITHMETIC_H_
