// The time of a layer of experts on one device, from measured times of a few shapes.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_GROUPED_GEMM_MODEL_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_GROUPED_GEMM_MODEL_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/grouped_gemm_shape.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/kernels/term_fit.h"

namespace sextant {

struct GroupedGemmPoint {
  GroupedGemmShape shape;
  Seconds time;
};

// Times of one kernel on one device in one data type.
struct GroupedGemmCalibration {
  // What the matrix units could do at most in this data type; absent: not known, not checked.
  absl::optional<FlopsPerSecond> peak = {};
  absl::Span<const GroupedGemmPoint> points;
};

// How a kernel cuts its work, as far as its times show it.
struct GroupedGemmForm {
  int64_t row_tile = 128;      // rows of an expert are filled up to a multiple of it
  int64_t balance_rows = 300;  // an expert of more rows takes longer to multiply than to read
};

// Terms:
//   0  1                                   launching a handful of kernels
//   1  weights of the active experts       memory
//   2  weights x filled-up rows            multiplications
//   3  weights x max(1, filled-up rows / balance_rows): the slower of both, where they overlap
//   4  tokens x hidden                     choosing experts, and what every device does with all
//   5  expert rows x hidden                permuting, and adding up
//   6  expert rows x intermediate          the activation, and quantising it
//   7  tokens                              routing
// Sizes are at least 1. docs/kernels_attention.md derives them.
TermShape GroupedGemmTerms(const GroupedGemmShape& shape, GroupedGemmForm form);

class GroupedGemmModel {
 public:
  static constexpr int64_t kLeastPoints = 16;
  // Rows per expert, experts or their size beyond the points: factors each octave, made as those of
  // AttentionFallbacks: docs/kernels_attention.md.
  static constexpr Widening kOctaveOutside{.low = 0.95, .high = 1.25};

  // Errors: kInvalidArgument naming calibration.grouped_gemm fields: fewer than kLeastPoints
  // points, sizes below 1 or above 2^40, devices that don't divide experts, more experts a token
  // than there are, times that are not finite, not positive or above a day, rates above 1.1 of the
  // peak, a shape twice.
  static absl::StatusOr<GroupedGemmModel> Of(const GroupedGemmCalibration& calibration);

  // The forward pass. Finite and positive for sizes of 1 to 2^40; others count as the nearest of
  // those. Allocates nothing.
  KernelTime Predict(const GroupedGemmShape& shape) const;

  // Of all points, each predicted by a fit that has not seen it.
  const PredictionError& error() const { return error_; }

 private:
  GroupedGemmModel(absl::Span<const TermPoint> points, GroupedGemmForm form, PredictionError error);

  GroupedGemmForm form_;
  TermFit fit_;
  TermPosition low_;  // the box that holds the points
  TermPosition high_;
  PredictionError error_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_GROUPED_GEMM_MODEL_H_
