// The time of a layer of experts on one device, from measured times of a few shapes.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_GROUPED_MATMUL_MODEL_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_GROUPED_MATMUL_MODEL_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/matmul_shape.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/kernels/term_fit.h"

namespace sextant {

// Times of one kernel on one device in one data type.
struct GroupedMatmulCalibration {
  // The peak rate of the matrix units in this data type; absent: unknown, not checked.
  absl::optional<FlopsPerSecond> peak = {};
  absl::Span<const GroupedMatmulPoint> points;
};

// A kernel's tiling, as inferred from its times.
struct GroupedMatmulForm {
  int64_t row_tile = 128;      // rows per expert are padded to a multiple of it
  int64_t balance_rows = 300;  // above it, multiplying an expert takes longer than reading it
};

// Terms:
//   0  1                                   launches of a handful of kernels
//   1  weights of the active experts       memory
//   2  weights x padded rows               multiplications
//   3  weights x max(1, padded rows / balance_rows): the slower of both, where they overlap
//   4  tokens x hidden                     choosing experts, and per-token work of every device
//   5  expert rows x hidden                permuting and summing
//   6  expert rows x intermediate          the activation, and its quantisation
//   7  tokens                              routing
// Sizes are at least 1. docs/kernels_attention.md, "Layers of experts", derives them.
TermShape GroupedMatmulTerms(const GroupedMatmulShape& shape, GroupedMatmulForm form);

// The result of fitting a calibration, which takes long.
struct GroupedMatmulModelFit {
  GroupedMatmulForm form;
  TermArray costs = {};
  PredictionError error;
};

class GroupedMatmulModel {
 public:
  static constexpr int64_t kMinPoints = 16;
  // Rows per expert, experts or their size outside the points: factors per octave, derived as
  // those of AttentionFallbacks: docs/kernels_attention.md, "What a calibration lacks".
  static constexpr Widening kOctaveOutside{.low = 0.95, .high = 1.25};

  // Errors: kInvalidArgument naming calibration.grouped_gemm fields: fewer than kMinPoints
  // points, sizes below 1 or above 2^40, devices that don't divide experts, more experts per token
  // than experts, times that are not finite, not positive or above a day, rates above 1.1 of the
  // peak, duplicate shapes.
  static absl::StatusOr<GroupedMatmulModel> Of(const GroupedMatmulCalibration& calibration);

  // The same of a calibration without errors whose fit is known: found() of that model.
  static GroupedMatmulModel Of(const GroupedMatmulCalibration& calibration,
                               const GroupedMatmulModelFit& found);
  GroupedMatmulModelFit found() const { return {form_, fit_.costs(), error_}; }

  // The time of the forward pass. Finite and positive for sizes of 1 to 2^40; others are clamped
  // to this range. Allocates nothing.
  KernelTime Predict(const GroupedMatmulShape& shape) const;

  // The error over all points, each predicted by a fit without it.
  const PredictionError& error() const { return error_; }

 private:
  GroupedMatmulModel(absl::Span<const TermPoint> points, const GroupedMatmulModelFit& found);

  GroupedMatmulForm form_;
  TermFit fit_;
  TermPosition low_;  // the bounding box of the points
  TermPosition high_;
  PredictionError error_;
};

// The field checks of GroupedMatmulModel::Of().
absl::Status CheckGroupedMatmul(const GroupedMatmulCalibration& calibration);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_GROUPED_MATMUL_MODEL_H_
