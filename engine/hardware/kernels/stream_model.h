// The time of any kernel other than a matrix product, from measured passes over memory.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_MODEL_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_MODEL_H_

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/kernels/stream_calibration.h"
#include "engine/hardware/kernels/stream_curve.h"

namespace sextant {

//   t = (m^a + c^a)^(1/a), c = F x seconds_per_flop
struct StreamArithmetic {
  double seconds_per_flop = 0;  // of fp32 multiply-adds; 0: unknown, takes no time
  double softness = 2;          // a: the higher, the better the overlap

  struct Joined {
    double seconds = 0;
    double compute_share = 0;  // c^a / (m^a + c^a)
  };
  // `memory_seconds` is above 0.
  Joined Join(double memory_seconds, double flops) const;
};

inline constexpr size_t kMinLadderSteps = 3;

// Least squares of the relative error of t^a for each a of a list; keeps the one with the smallest
// error in time. Absent with fewer than kMinLadderSteps, or where time does not grow with the
// multiply-adds.
// Source: derived in docs/kernels.md, "Passes over memory".
absl::optional<StreamArithmetic> FitLadder(absl::Span<const MeasuredElementwise> measured);

// The work of a kernel in addition to one pass over its arrays.
enum class StreamKind {
  kElementwise,  // none: each element separately
  kRows,         // sums over rows, or looks them up
};

// Rates where no pass was measured.
struct StreamRates {
  BytesPerSecond memory;
  absl::optional<FlopsPerSecond> arithmetic = {};
  PredictionError error = {};
};

// A measured pass similar to a kernel.
struct NearbyPass {
  StreamWork work;
  Seconds time;
};

class StreamModel {
 public:
  // Errors: those of CheckStreamCalibration().
  static absl::StatusOr<StreamModel> Of(const StreamCalibration& calibration);

  // The basis is kDatasheet at best. `rates` are above 0.
  static StreamModel OfRates(const StreamRates& rates);

  // Finite and positive for work of 0 to 1e30, continuous, and nondecreasing in bytes and FLOPs at
  // a fixed share of reads. Allocates nothing.
  KernelTime Predict(const StreamWork& work, StreamKind kind) const;

  // The error over passes, each predicted without it where the remaining ones surround it; assumed
  // where these are fewer than kMinPasses.
  const PredictionError& error() const { return error_; }
  const StreamCurve& curve() const { return curve_; }
  const StreamArithmetic& arithmetic() const { return arithmetic_; }

  // Up to `most` of the measured passes, nearest first: by logarithms of bytes and of FLOPs per
  // byte, and by the share of reads. Empty for rates.
  std::vector<NearbyPass> Nearest(const StreamWork& work, size_t most) const;

 private:
  StreamModel() = default;
  static StreamModel Fit(const StreamCalibration& calibration);
  static PredictionError CrossValidatePasses(const StreamCalibration& calibration);
  double SecondsAt(const StreamWork& work) const;

  StreamCurve curve_;
  StreamArithmetic arithmetic_;
  PredictionError error_;
  KernelBasis basis_ = KernelBasis::kWithinGrid;
  bool processor_ = false;
  StreamCalibration measured_;
};

inline constexpr size_t kMinPasses = 5;

// Intervals where a calibration lacks passes, and for kernels that do more than a pass; factors on
// their ends. docs/kernels.md, "Passes over memory", has the figures and their sources.
struct StreamFallbacks {
  // Fewer than kMinPasses to fit.
  static constexpr PredictionError kUntried{.p10 = 0.85, .median = 1, .p90 = 1.25};
  // Per octave below the smallest measured size, up to kMaxOctaves: a cache may hold it.
  static constexpr Widening kSmaller{.low = 0.8, .high = 1.05};
  static constexpr double kMaxOctaves = 6;
  // Half of the bytes in an unmeasured pattern.
  static constexpr Widening kOtherMix{.low = 0.88, .high = 1.12};
  static constexpr Widening kOtherMixOfProcessor{.low = 0.8, .high = 1.75};
  // Arithmetic-bound kernels: the ladder has multiply-adds, two FLOPs per instruction.
  static constexpr Widening kArithmetic{.low = 0.9, .high = 2};
  // FLOPs of unknown rate.
  static constexpr Widening kNoArithmetic{.low = 1, .high = 1.25};
  // Kernels of kRows take 1 to 1.5 times a pass.
  static constexpr double kRowsOverPass = 1.2;
  static constexpr Widening kRows{.low = 1 / 1.2, .high = 1.25};
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_MODEL_H_
