// The time of attention on one device, from measured times of a few shapes.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_MODEL_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_MODEL_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/attention_terms.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/kernels/term_fit.h"

namespace sextant {

// A pass that was measured.
struct AttentionPoint {
  AttentionShape shape;
  Seconds time;
};

// Times of one kernel on one device in one data type, all of them forward or all of them backward:
// a backward pass does the same things, at other costs.
struct AttentionCalibration {
  int64_t compute_units = 0;  // streaming multiprocessors
  // What the matrix units could do at most in this data type, of forward passes; absent: not known,
  // not checked.
  absl::optional<FlopsPerSecond> peak = {};
  absl::Span<const AttentionPoint> points;
};

class AttentionModel {
 public:
  // Head sizes, masks and windows that kernels treat apart are fitted apart, each from at least
  // kLeastPoints points; about 30 are a good calibration, docs/kernels_attention.md says which.
  static constexpr int64_t kLeastPoints = 8;

  // Errors: kInvalidArgument naming calibration.attention fields: no points, sizes below 1 or above
  // 2^40, heads that are no multiple of key and value heads, times that are not finite, not
  // positive or above a day, rates above 1.1 of the peak (datasheets' clocks are up to 8 % below
  // the highest), a shape twice, fewer than kLeastPoints of a head size, mask and window.
  static absl::StatusOr<AttentionModel> Of(const AttentionCalibration& calibration);

  // Finite and positive for sizes of 1 to 2^40; others count as the nearest of those. Allocates
  // nothing. Where a head size, mask or window was not measured, the nearest ones answer;
  // AttentionFallbacks say how far the interval widens. No basis is better than kWithinGrid: a
  // time that was measured is smoothed as all others are.
  KernelTime Predict(const AttentionShape& shape) const;

  // Of a model of forward passes. kOtherPass: the forward pass by kBackwardOverForward.
  KernelTime PredictBackward(const AttentionShape& shape) const;

  // Whether the head sizes and the mask of `shape`, whatever its window, were measured.
  bool Knows(const AttentionShape& shape) const;

  // Of all points, each predicted by a fit that has not seen it.
  const PredictionError& error() const { return error_; }

 private:
  // Points of one head size, mask and window.
  struct Class {
    AttentionShape like;  // of which only head sizes, mask and window count
    AttentionForm form;
    TermFit fit;
    TermPosition low = {};  // the box that holds the points
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

  AttentionModel() = default;
  absl::Status AddClass(absl::Span<const AttentionPoint> points, std::vector<double>& ratios);
  const Group& NearestGroup(const AttentionShape& shape) const;
  Estimate EstimateOf(const AttentionShape& shape) const;
  Estimate EstimateBy(const Class& chosen, const AttentionShape& shape) const;

  int64_t compute_units_ = 1;
  std::vector<Group> groups_;
  PredictionError error_;
};

// Intervals of what a calibration lacks; factors on its ends. Each is the 10th and 90th percentile
// of measured over predicted time of shapes that the model was kept from, over the same of shapes
// that it was not: docs/kernels_attention.md, tests/validation/attention_lacks.cc.
struct AttentionFallbacks {
  // Sequence, batch x heads or group size beyond the points, each octave (doubling).
  static constexpr Widening kOctaveOutside{.low = 0.95, .high = 1.13};
  // A head size between two measured ones; beside all of them, each octave.
  static constexpr Widening kBetweenHeadSizes{.low = 0.85, .high = 1.1};
  static constexpr Widening kOctaveOfHeadSize{.low = 0.65, .high = 1.4};
  static constexpr Widening kOtherWindow{.low = 0.9, .high = 1.8};
  static constexpr Widening kOtherMask{.low = 0.9, .high = 1.2};
  // 2.5 times the FLOPs at 0.83 of the rate: 2.70 to 3.52 times the forward's time in figures 5 and
  // 6 of FlashAttention-3 (arXiv 2407.08608), head sizes 64 and 128, 1k to 16k tokens, for
  // FlashAttention-2, -3 and cuDNN on an H100, without a mask. At second hand, as read from the
  // figures' images. For causal masks no figure is published: 1.2 instead of 3.52 / 3.
  static constexpr double kBackwardOverForward = 3.0;
  static constexpr Widening kBackward{.low = 0.9, .high = 1.2};
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_ATTENTION_MODEL_H_
