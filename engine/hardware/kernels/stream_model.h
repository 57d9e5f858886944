// The time of any kernel that is no product of matrices, from measured passes over memory.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_MODEL_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_MODEL_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/kernels/stream_arithmetic.h"
#include "engine/hardware/kernels/stream_calibration.h"
#include "engine/hardware/kernels/stream_curve.h"

namespace sextant {

// What a kernel does beside passing over its arrays once.
enum class StreamKind {
  kElementwise,  // nothing: each element apart
  kRows,         // sums up, or looks up rows
};

// Rates where no pass was measured.
struct StreamRates {
  BytesPerSecond memory;
  absl::optional<FlopsPerSecond> arithmetic = {};
  PredictionError error = {};
};

// A measured pass near to a kernel.
struct NearbyPass {
  std::string name;  // "copy of 268435456 bytes"
  Seconds time;
};

class StreamModel {
 public:
  // Errors: those of CheckStreamCalibration().
  static absl::StatusOr<StreamModel> Of(const StreamCalibration& calibration);

  // Basis kDatasheet at best. `rates` are above 0.
  static StreamModel OfRates(const StreamRates& rates);

  // Finite and positive for work of 0 to 1e30, never falling as bytes or FLOPs grow while the share
  // of reads stays, and continuous. Allocates nothing.
  KernelTime Predict(const StreamWork& work, StreamKind kind) const;

  // Of passes each predicted without it, where what is left lies around it; stated where these are
  // fewer than kFewestPasses.
  const PredictionError& error() const { return error_; }
  const StreamCurve& curve() const { return curve_; }
  const StreamArithmetic& arithmetic() const { return arithmetic_; }

  // Up to `most` of the measured passes, nearest first: by logarithms of bytes and of FLOPs a
  // byte, and by the share of reads. None of rates.
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

inline constexpr size_t kFewestPasses = 5;

// What a calibration of passes lacks, and what kernels do beside passing; factors on the ends of an
// interval. docs/kernels_streams.md has the figures and where they come from.
struct StreamFallbacks {
  // Fewer than kFewestPasses to learn from.
  static constexpr PredictionError kUntried{.p10 = 0.85, .median = 1, .p90 = 1.25};
  // Each octave below the smallest measured size, of kMostOctaves at most: a cache may hold it.
  static constexpr Widening kSmaller{.low = 0.8, .high = 1.05};
  static constexpr double kMostOctaves = 6;
  // Half of the bytes in a pattern that was not measured.
  static constexpr Widening kOtherMix{.low = 0.88, .high = 1.12};
  static constexpr Widening kOtherMixOfProcessor{.low = 0.8, .high = 1.75};
  // Arithmetic alone bounds: the ladder's are multiply-adds, two FLOPs an instruction.
  static constexpr Widening kArithmetic{.low = 0.9, .high = 2};
  // FLOPs whose rate nobody knows.
  static constexpr Widening kNoArithmetic{.low = 1, .high = 1.25};
  // Kernels of kRows take 1 to 1.5 times a pass.
  static constexpr double kRowsOverPass = 1.2;
  static constexpr Widening kRows{.low = 1 / 1.2, .high = 1.25};
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_STREAM_MODEL_H_
