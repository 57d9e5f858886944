// Times of expert layers in one data type on one device, from the best available data.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_GROUPED_MATMUL_PREDICTOR_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_GROUPED_MATMUL_PREDICTOR_H_

#include <algorithm>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/matmul_shape.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/hardware/predict/matmul_predictor.h"

namespace sextant {

class GroupedMatmulModel;

// Rows per expert are padded to a multiple of this, the smallest tile of matrix units.
inline constexpr int64_t kGroupedRowTile = 64;

// The inputs for approximating a device's grouped products.
struct UngroupedProducts {
  const MatmulPredictor& matmuls;
  BytesPerSecond memory;
  DataType type = DataType::kUnspecified;
};

// For e experts with any rows, m rows each:
//
//   T(n, k) = (matmul(e m', n, k)^2 + ((e - 1) n k b / bandwidth)^2)^(1/2)
//   t = T(2 f, h) + T(h, f) + activation
//
// m' is m padded to tiles: all tiles run as one launch, like those of one tall product, but every
// expert's weights are read. The activation reads 2 f and writes f numbers of 2 bytes per row, at
// the bandwidth. Without a gate, f replaces 2 f. The exponent is the roofline's
// (docs/kernels.md, "Roofline"). Finite and positive for sizes of 1 to 2^40.
Seconds ExpertsByMatmuls(const GroupedMatmulShape& shape, const UngroupedProducts& products);

// Quantiles of measured times of published layers over ExpertsByMatmuls() with the published
// multiplications of the same product, for four GPUs (docs/kernels.md, "By two ceilings").
PredictionError ErrorOfExpertsByMatmuls(DataType type);

// One product of all experts of a device: y[m,n] = x[m,k] w[n,k]^T of each of them, or one of its
// two gradients, by the names of the forward pass.
struct GroupedProduct {
  int64_t experts = 1;
  double rows_per_expert = 1;
  int64_t n = 1;
  int64_t k = 1;
  MatmulPass pass = MatmulPass::kForward;
};

// Time over that of the device's dense products that trainings of mixtures with many small experts
// were seen to take, at most: published runs on H100, B200 and GB200 against the published dense
// products (docs/kernels_attention.md, "Parts of a layer"). A property of their software, so no
// prediction expects it; `narrow` is of fp8.
inline constexpr struct {
  double wide = 1.75;
  double narrow = 1.35;
} kTrainedProducts;

// Quantiles of measured times of published layers over the sum of their parts, of which grouped
// products are the most (docs/kernels_attention.md, "Parts of a layer"; the table is in
// docs/accuracy_kernels.md). p90 of bf16, and of fp8 with a scale per tensor, is kTrainedProducts
// instead, which is more.
PredictionError ErrorOfGroupedProducts(MatmulType type);

// The expected factor on dense products. Published layers are faster than their parts, but no
// training was seen to multiply its experts faster than one dense product of all rows.
inline double GroupedFactor(const PredictionError& error) { return std::max(error.median, 1.0); }

// Expert layers multiplied in a type, with or without a gate.
struct ExpertsKind {
  DataType type = DataType::kUnspecified;
  bool gated = true;
  absl::optional<MatmulScaling> scaling = {};  // of fp8; absent: UsualMatmulType()'s
};

// True for fp8 with a scale per block: layers of their own. Other types have one scaling.
bool HasOtherScaling(ExpertsKind kind);

// Published layers in fp8 with a scale per block over those with one per tensor, of the same shape:
// p10 0.66, median 1.01, p90 1.57 of 1866 layers of three GPUs (docs/kernels_attention.md,
// "Parts of a layer").
inline constexpr Widening kOtherScalingOfExperts{.low = 0.65, .high = 1.6};

class GroupedMatmulPredictor {
 public:
  // For a product that was not measured here. The first of
  //   published layers of the kind
  //   published layers in another type of the same width and peak
  //   the sum of their products by MatmulPredictor::OfAccelerator()
  // Absent where that is absent. Where a scaling other than the type's usual one has no layers,
  // those of the usual one answer for it, kOtherType; the products are of the kind's scaling.
  static absl::optional<GroupedMatmulPredictor> OfAccelerator(const Accelerator& accelerator,
                                                              ExpertsKind kind);

  // For a measured device. The first of
  //   its own layers of the kind, at least GroupedMatmulModel::kMinPoints
  //   published layers of its product in the type
  //   its own layers, then published ones, in another type of the same width and peak
  //   the sum of their products by `matmuls`
  // Absent where none is available. Scalings as in OfAccelerator(): a device's own layers have the
  // usual one. Errors: those of GroupedMatmulModel::Of() and of `matmuls`.
  static absl::StatusOr<absl::optional<GroupedMatmulPredictor>> OfMeasured(
      const MeasuredKernels& measured, ExpertsKind kind, MatmulsOfDevice matmuls);

  // Makes it that of a device of the same product, which has not been scaled. A measured layer's
  // share of arithmetic is that of its first product, or all of it where products are not known.
  void Scale(const DeviceScale& scale);

  // The forward pass of one device's share; the kind's gate replaces that of `shape`. Finite and
  // positive for sizes of 1 to 2^40. Allocates nothing.
  KernelTime Predict(const GroupedMatmulShape& shape) const;

  // One product of all experts, in one launch, of operands that are quantised already:
  //
  //   t = r max(batch(e, m', n, k) - quantisation, weights / bandwidth)
  //
  // m' is m padded to tiles, batch() is MatmulPredictor::PredictBatch() by the device's dense
  // products, and r the GroupedFactor() of ErrorOfGroupedProducts(). Where the device's dense
  // products are not known, the product's share of a layer by its FLOPs. kOtherPass at best. Finite
  // and positive for sizes of 1 to 2^40 and rows above 0. Allocates nothing.
  KernelTime PredictProduct(const GroupedProduct& product) const;

  const KernelSource& source() const { return source_; }

 private:
  GroupedMatmulPredictor() = default;
  static absl::StatusOr<absl::optional<GroupedMatmulPredictor>> OfOwn(
      const MeasuredKernels& measured, ExpertsKind kind);
  static absl::StatusOr<absl::optional<GroupedMatmulPredictor>> OfOwnOrReference(
      const MeasuredKernels& measured, ExpertsKind kind);
  // Layers that were measured, here or elsewhere, of the kind or a similar one.
  static absl::StatusOr<absl::optional<GroupedMatmulPredictor>> OfLayers(
      const MeasuredKernels& measured, ExpertsKind kind);
  static absl::optional<GroupedMatmulPredictor> OfReference(const Accelerator& accelerator,
                                                            ExpertsKind kind);
  static absl::optional<GroupedMatmulPredictor> OfMatmuls(const MatmulPredictor& matmuls,
                                                          BytesPerSecond memory, ExpertsKind kind);
  // `layers`, or else the sum of products, with the device's figures.
  static absl::optional<GroupedMatmulPredictor> OnProducts(
      absl::optional<GroupedMatmulPredictor> layers, ExpertsKind kind,
      absl::optional<MatmulPredictor> matmuls, BytesPerSecond memory);
  KernelTime PredictByMatmuls(const GroupedMatmulShape& shape) const;
  KernelTime ProductOfLayer(const GroupedProduct& product) const;
  KernelTime Scaled(const KernelTime& time, const GroupedMatmulShape& shape) const;
  KernelTime PerhapsWithoutPermuting(KernelTime time, const GroupedMatmulShape& shape) const;

  ExpertsKind kind_;
  KernelSource source_;
  std::shared_ptr<const GroupedMatmulModel> own_ = nullptr;  // owns `model_`, if it is ours
  const GroupedMatmulModel* model_ = nullptr;                // null: by products
  bool equivalent_type_ = false;                             // the model is of a similar type
  bool whole_layer_ = false;    // the model's times include more than products
  bool other_scaling_ = false;  // the model is of the type's usual scaling
  absl::optional<MatmulPredictor> matmuls_ = {};
  BytesPerSecond memory_ = {};  // 0: unknown
  double element_bytes_ = 0;    // of matrices
  absl::optional<DeviceScale> scale_ = {};
};

// A probe times only the products of a layer. Published layers also choose experts, and permute
// and sum tokens, which a device may skip: four passes over a row of h in bf16, bytes per element
// (docs/kernels.md, "From what, for each kind"). Up to 0.22 of a published layer (90th percentile
// of the table with the largest share); the low end goes down by each layer's own share, by at most
// half.
inline constexpr double kPermutedLayerBytes = 8;

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_GROUPED_MATMUL_PREDICTOR_H_
