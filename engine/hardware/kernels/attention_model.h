// The time of attention on one device, from measured times of a few shapes.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_MODEL_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_MODEL_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/attention_shape.h"
#include "engine/hardware/kernels/attention_terms.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/kernels/term_fit.h"

namespace sextant {

// Times of one kernel on one device in one data type, all forward or all backward. A backward pass
// has the same terms at other costs.
struct AttentionCalibration {
  int64_t compute_units = 0;  // streaming multiprocessors
  // The peak rate of the matrix units in this data type, for forward passes; absent: unknown, not
  // checked.
  absl::optional<FlopsPerSecond> peak = {};
  absl::Span<const AttentionPoint> points;
};

// The result of fitting the points of one head size, mask and window, which takes long.
struct AttentionClassFit {
  AttentionForm form;
  TermArray costs = {};
  PredictionError error;
};

class AttentionModel {
 public:
  // Each combination of head size, mask and window that kernels treat differently is fitted
  // separately, from at least kMinPoints points. About 30 points are a good calibration;
  // docs/kernels_attention.md, "Which points", lists them.
  static constexpr int64_t kMinPoints = 8;

  // Errors: kInvalidArgument naming calibration.attention fields: no points, sizes below 1 or
  // above 2^40, heads that are not a multiple of key and value heads, times that are not finite,
  // not positive or above a day, rates above 1.1 of the peak (datasheet clocks are up to 8 % below
  // the highest), duplicate shapes, fewer than kMinPoints for a head size, mask and window.
  static absl::StatusOr<AttentionModel> Of(const AttentionCalibration& calibration);

  // The same of a calibration without errors whose fit is known: found() and error() of that
  // model.
  static AttentionModel Of(const AttentionCalibration& calibration,
                           absl::Span<const AttentionClassFit> found, const PredictionError& error);
  std::vector<AttentionClassFit> found() const;

  // Finite and positive for sizes of 1 to 2^40; others are clamped to this range. Allocates
  // nothing. The best basis is kWithinGrid: measured times are smoothed like all others. What was
  // not measured widens the interval by AttentionFallbacks:
  //   a mask or window: the nearest one's costs, with the amounts of this one
  //   a head size outside those of the mask and window: their nearest, and, the farther the more,
  //     those of another mask or window that has it; from an octave on these alone
  //   lengths of queries and keys that differ: the costs of equal lengths. kOtherPass
  KernelTime Predict(const AttentionShape& shape) const;

  // For a model of forward passes. kOtherPass: the forward pass times kBackwardOverForward.
  KernelTime PredictBackward(const AttentionShape& shape) const;

  // True where the head sizes and the mask of `shape` were measured, with any window.
  bool Knows(const AttentionShape& shape) const;

  // The error over all points, each predicted by a fit without it.
  const PredictionError& error() const { return error_; }

 private:
  // Points of one head size, mask and window.
  struct Class {
    AttentionShape like;  // only head sizes, mask and window are set
    AttentionForm form;
    TermFit fit;
    TermPosition low = {};  // the bounding box of the points
    TermPosition high = {};
    PredictionError error;
  };
  // Classes of one mask and window, by head size.
  using Group = std::vector<Class>;
  struct Estimate {
    double log_seconds = 0;
    PredictionError error;
    Widening widening;
    bool outside = false;
  };

  explicit AttentionModel(int64_t compute_units) : compute_units_(compute_units) {}
  // Adds measured over predicted times of held-out points to `ratios`.
  absl::StatusOr<AttentionClassFit> FitClass(absl::Span<const AttentionPoint> points,
                                             std::vector<double>& ratios) const;
  void AddClass(absl::Span<const AttentionPoint> points, const AttentionClassFit& found);
  Estimate EstimateOf(const AttentionShape& shape) const;
  Estimate EstimateIn(const Group& group, const AttentionShape& shape) const;
  // By a class of this head size; of another one.
  Estimate EstimateBy(const Class& chosen, const AttentionShape& shape) const;
  Estimate EstimateFromOtherSize(const Class& chosen, const AttentionShape& shape) const;
  static Estimate Mixed(Estimate a, const Estimate& b, double share);

  int64_t compute_units_;
  std::vector<Group> groups_;
  PredictionError error_;
};

// Intervals where a calibration lacks a shape, as factors on their ends, chosen so that 75 to 85 %
// of the shapes of each kind that were held out of a model are within them:
// docs/kernels_attention.md, "What a calibration lacks", tests/validation/attention_accuracy.py.
struct AttentionFallbacks {
  // Sequence, batch x heads or group size below or above the points', per octave (doubling).
  static constexpr Widening kOctaveBelow{.low = 0.97, .high = 1.12};
  static constexpr Widening kOctaveAbove{.low = 0.99, .high = 1.01};
  // A head size between two measured ones; outside of all, per octave.
  static constexpr Widening kBetweenHeadSizes{.low = 0.88, .high = 1.05};
  static constexpr Widening kOctaveOfHeadSize{.low = 0.88, .high = 1.12};
  // Twice the head size takes 2^0.7 = 1.62 times as long in the median, not twice: the exponentials
  // of a pair are as many for any head size.
  static constexpr double kHeadSizeExponent = 0.7;
  static constexpr Widening kOtherWindow{.low = 0.9, .high = 1.8};
  // Measured over expected time of full masks by the costs of causal ones, in the median; of causal
  // ones by full ones it is the inverse.
  static constexpr double kFullOverCausal = 0.95;
  static constexpr Widening kFullByCausal{.low = 0.85, .high = 1};
  static constexpr Widening kCausalByFull{.low = 1, .high = 1.05};
  // Queries and keys of different lengths, per octave between them, up to kMaxOctavesOfLengths. No
  // such times are published. They lie between those of equal lengths, of as many tokens as queries
  // and as keys. In published rows an octave more of tokens takes 0.60 to 0.95 of the time a pair
  // (p10, p90 of 15,255 couples of rows); from the middle of the octave it is half of that.
  static constexpr Widening kOctaveOfLengths{.low = 0.8, .high = 1.25};
  static constexpr double kMaxOctavesOfLengths = 4;
  static Widening OfLengths(const AttentionShape& shape);
  // 2.5 times the FLOPs at 0.83 of the rate: 2.70 to 3.52 times the forward's time in figures 5
  // and 6 of FlashAttention-3 (arXiv 2407.08608), head sizes 64 and 128, 1k to 16k tokens, for
  // FlashAttention-2, -3 and cuDNN on an H100, without a mask. Secondary data, read off the
  // figures' images. No figure is published for causal masks: 1.2 instead of 3.52 / 3.
  static constexpr double kBackwardOverForward = 3.0;
  static constexpr Widening kBackward{.low = 0.9, .high = 1.2};
};

// The field checks of AttentionModel::Of(), without the number of points per class.
absl::Status CheckAttention(const AttentionCalibration& calibration);

// AttentionFlops() of a kernel that skips the most: a chunked window leaves the fewest pairs, so
// that kernels that cut the sequence into chunks pass the rate check.
double LeastAttentionFlops(const AttentionShape& shape);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_MODEL_H_
