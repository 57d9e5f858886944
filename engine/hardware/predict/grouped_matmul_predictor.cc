#include "engine/hardware/predict/grouped_matmul_predictor.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/achieved_fraction.h"
#include "engine/hardware/kernels/ceiling_time.h"
#include "engine/hardware/kernels/grouped_matmul_model.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/matmul_roofline.h"
#include "engine/hardware/kernels/matmul_shape.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/hardware/reference/reference_kernels.h"

namespace sextant {
namespace {

constexpr double kActivationBytes = 2;  // bf16, for all matrix types

int64_t WholeSize(double size) {
  return static_cast<int64_t>(std::clamp(size, 1.0, static_cast<double>(kMaxKernelSize)));
}

// One matrix of each expert.
struct ExpertMatrices {
  double experts = 1;
  double rows = 1;  // per expert
  double n = 1;
  double k = 1;
};

double SecondsOf(const ExpertMatrices& product, const UngroupedProducts& by) {
  const MatmulShape together = {WholeSize(product.experts * product.rows), WholeSize(product.n),
                                WholeSize(product.k)};
  const double other_weights = (product.experts - 1) * product.n * product.k;
  return std::hypot(by.matmuls.Predict(together).expected.value(),
                    other_weights * MatmulElementBytes(by.type) / by.memory.value());
}

constexpr char kLayersSource[] = "ai-dynamo/aiconfigurator @095f58a51c4c, layers of experts, ";

using OptionalPredictor = absl::optional<GroupedMatmulPredictor>;

// Rows per expert, and experts with any, where fewer rows than experts arrive.
struct ActiveExperts {
  double experts = 1;
  double padded_rows = kGroupedRowTile;
};

ActiveExperts ActiveOf(double experts, double rows) {
  const double active = std::max(1.0, std::min(experts, rows));
  constexpr auto kTile = static_cast<double>(kGroupedRowTile);
  return {.experts = active,
          .padded_rows = std::ceil(std::max(rows, 1.0) / active / kTile) * kTile};
}

// One expert's product as a dense one.
MatmulShape ShapeOf(const GroupedProduct& product, double padded_rows) {
  const MatmulShape forward = {WholeSize(padded_rows), product.n, product.k, product.pass};
  switch (product.pass) {
    case MatmulPass::kInputGradient:
      return InputGradientOf(forward);
    case MatmulPass::kWeightGradient:
      return WeightGradientOf(forward);
    case MatmulPass::kForward:
    case MatmulPass::kOtherLayout:
      return forward;
  }
  return forward;
}

// `expected`, with the errors of two sources that don't know of each other: their logs add up as
// squares.
KernelTime WithBothErrors(Seconds expected, const PredictionError& error, Widening other,
                          KernelBasis basis) {
  const double factor = GroupedFactor(error);
  const double low = std::hypot(std::log(error.p10 / factor), std::log(other.low));
  const double high = std::hypot(std::log(error.p90 / factor), std::log(other.high));
  return {.expected = expected,
          .low = expected * std::exp(-low),
          .high = expected * std::exp(high),
          .basis = basis};
}

MatmulType ProductsOf(ExpertsKind kind) { return ScaledMatmulType(kind.type, kind.scaling); }

ExpertsKind UsualScaling(ExpertsKind kind) { return {.type = kind.type, .gated = kind.gated}; }

ExpertsKind LikeType(ExpertsKind kind) {
  return {.type = EquivalentType(kind.type), .gated = kind.gated, .scaling = kind.scaling};
}

KernelTime InOtherScaling(const KernelTime& time) {
  return Widened(time, 1, kOtherScalingOfExperts, KernelBasis::kOtherType);
}

BytesPerSecond MemoryOf(const Accelerator* accelerator) {
  if (accelerator == nullptr) return {};
  const DatasheetValue& bandwidth = accelerator->memory_bandwidth_bytes_per_second;
  if (!bandwidth) return {};
  return BytesPerSecond(bandwidth.value * AchievedBandwidthFraction(*accelerator).expected);
}

BytesPerSecond MemoryOf(const MeasuredKernels& measured) {
  const absl::optional<MeasuredPass> copy = measured.calibration->memory_copy();
  if (copy.has_value()) return BytesPerSecond(copy->per_second);
  return MemoryOf(measured.calibration->accelerator);
}

}  // namespace

Seconds ExpertsByMatmuls(const GroupedMatmulShape& shape, const UngroupedProducts& products) {
  const auto hidden = static_cast<double>(shape.hidden);
  const auto inner = static_cast<double>(shape.intermediate);
  const double up = shape.gated ? 2 * inner : inner;
  const double rows = std::max(ExpertRows(shape), 1.0);
  const double local =
      static_cast<double>(shape.experts) / static_cast<double>(shape.expert_parallel);
  const auto [active, filled] = ActiveOf(local, rows);
  const double activation = rows * (up + inner) * kActivationBytes / products.memory.value();
  return Seconds(SecondsOf({.experts = active, .rows = filled, .n = up, .k = hidden}, products) +
                 SecondsOf({.experts = active, .rows = filled, .n = hidden, .k = inner}, products) +
                 activation);
}

bool HasOtherScaling(ExpertsKind kind) {
  return CanonicalType(kind.type) == DataType::kFp8E4m3 && kind.scaling == MatmulScaling::kBlock;
}

PredictionError ErrorOfGroupedProducts(MatmulType type) {
  if (!IsNarrow(type.data_type)) {
    return {.p10 = 0.84, .median = 0.95, .p90 = kTrainedProducts.wide};
  }
  if (type.scaling == MatmulScaling::kTensor) {
    return {.p10 = 0.69, .median = 0.81, .p90 = kTrainedProducts.narrow};
  }
  if (CanonicalType(type.data_type) == DataType::kFp8E4m3 || type.data_type == DataType::kMxfp8) {
    return {.p10 = 0.83, .median = 0.97, .p90 = 1.36};
  }
  return {.p10 = 0.59, .median = 0.94, .p90 = 1.55};
}

PredictionError ErrorOfExpertsByMatmuls(DataType type) {
  return IsNarrow(type) ? PredictionError{.p10 = 0.94, .median = 1.40, .p90 = 3.25}
                        : PredictionError{.p10 = 0.98, .median = 1.50, .p90 = 4.46};
}

absl::StatusOr<OptionalPredictor> GroupedMatmulPredictor::OfOwn(const MeasuredKernels& measured,
                                                                ExpertsKind kind) {
  std::vector<GroupedMatmulPoint> points;
  for (const MeasuredExperts& each : measured.experts) {
    if (HasOtherScaling(kind)) break;  // probes measure the usual one
    if (each.data_type != CanonicalType(kind.type)) continue;
    for (const GroupedMatmulPoint& point : each.points) {
      if (point.shape.gated == kind.gated) points.push_back(point);
    }
  }
  if (static_cast<int64_t>(points.size()) < GroupedMatmulModel::kMinPoints) {
    return OptionalPredictor();
  }
  SEXTANT_ASSIGN_OR_RETURN(GroupedMatmulModel model, GroupedMatmulModel::Of({.points = points}));
  GroupedMatmulPredictor out;
  out.kind_ = kind;
  out.own_ = std::make_shared<const GroupedMatmulModel>(std::move(model));
  out.model_ = out.own_.get();
  out.source_ = SourceOfMeasured(measured);
  out.source_.form = PredictionForm::kTerms;
  out.source_.error = out.model_->error();
  return absl::make_optional(std::move(out));
}

OptionalPredictor GroupedMatmulPredictor::OfReference(const Accelerator& accelerator,
                                                      ExpertsKind kind) {
  const GroupedMatmulReference* reference =
      FindGroupedMatmulReference({.device = accelerator.name,
                                  .data_type = CanonicalType(kind.type),
                                  .block_scaled = HasOtherScaling(kind),
                                  .gated = kind.gated});
  if (reference == nullptr) return absl::nullopt;
  GroupedMatmulPredictor out;
  out.kind_ = kind;
  out.model_ = ReferenceModel(*reference);
  if (out.model_ == nullptr) return absl::nullopt;
  out.whole_layer_ = true;
  out.source_ = {.source = RateSource::kReference,
                 .citation = absl::StrCat(kLayersSource, reference->kernel),
                 .device = accelerator.name,
                 .form = PredictionForm::kTerms,
                 .error = out.model_->error()};
  return out;
}

OptionalPredictor GroupedMatmulPredictor::OfMatmuls(const MatmulPredictor& matmuls,
                                                    BytesPerSecond memory, ExpertsKind kind) {
  if (!(memory.value() > 0)) return absl::nullopt;
  GroupedMatmulPredictor out;
  out.kind_ = kind;
  out.source_ = matmuls.source();
  out.source_.citation =
      absl::StrCat("sum of an expert's products, each from ", out.source_.citation);
  out.source_.form = PredictionForm::kProducts;
  out.source_.error = ErrorOfExpertsByMatmuls(kind.type);
  return out;
}

OptionalPredictor GroupedMatmulPredictor::OfAccelerator(const Accelerator& accelerator,
                                                        ExpertsKind kind) {
  OptionalPredictor out = OfReference(accelerator, kind);
  if (!out.has_value() && HasOtherScaling(kind)) {
    out = OfReference(accelerator, UsualScaling(kind));
    if (out.has_value()) out->other_scaling_ = true;
  }
  if (!out.has_value()) {
    out = OfReference(accelerator, LikeType(kind));
    if (out.has_value()) out->equivalent_type_ = true;
  }
  return OnProducts(std::move(out), kind,
                    MatmulPredictor::OfAccelerator(accelerator, ProductsOf(kind)),
                    MemoryOf(&accelerator));
}

absl::StatusOr<OptionalPredictor> GroupedMatmulPredictor::OfOwnOrReference(
    const MeasuredKernels& measured, ExpertsKind kind) {
  const Accelerator* const accelerator = measured.calibration->accelerator;
  SEXTANT_ASSIGN_OR_RETURN(OptionalPredictor out, OfOwn(measured, kind));
  if (!out.has_value() && accelerator != nullptr) out = OfReference(*accelerator, kind);
  return out;
}

absl::StatusOr<OptionalPredictor> GroupedMatmulPredictor::OfLayers(const MeasuredKernels& measured,
                                                                   ExpertsKind kind) {
  SEXTANT_ASSIGN_OR_RETURN(OptionalPredictor out, OfOwnOrReference(measured, kind));
  if (!out.has_value() && HasOtherScaling(kind)) {
    SEXTANT_ASSIGN_OR_RETURN(out, OfOwnOrReference(measured, UsualScaling(kind)));
    if (out.has_value()) out->other_scaling_ = true;
  }
  if (!out.has_value()) {
    SEXTANT_ASSIGN_OR_RETURN(out, OfOwnOrReference(measured, LikeType(kind)));
    if (out.has_value()) out->equivalent_type_ = true;
  }
  return out;
}

absl::StatusOr<OptionalPredictor> GroupedMatmulPredictor::OfMeasured(
    const MeasuredKernels& measured, ExpertsKind kind, MatmulsOfDevice matmuls) {
  SEXTANT_ASSIGN_OR_RETURN(OptionalPredictor layers, OfLayers(measured, kind));
  SEXTANT_ASSIGN_OR_RETURN(absl::optional<MatmulPredictor> products, matmuls(ProductsOf(kind)));
  return OnProducts(std::move(layers), kind, std::move(products), MemoryOf(measured));
}

OptionalPredictor GroupedMatmulPredictor::OnProducts(OptionalPredictor layers, ExpertsKind kind,
                                                     absl::optional<MatmulPredictor> matmuls,
                                                     BytesPerSecond memory) {
  if (!layers.has_value() && matmuls.has_value()) layers = OfMatmuls(*matmuls, memory, kind);
  if (!layers.has_value()) return layers;
  layers->kind_ = kind;
  layers->matmuls_ = std::move(matmuls);
  layers->memory_ = memory;
  layers->element_bytes_ = MatmulElementBytes(kind.type);
  return layers;
}

KernelTime GroupedMatmulPredictor::PredictByMatmuls(const GroupedMatmulShape& shape) const {
  const Seconds time =
      ExpertsByMatmuls(shape, {.matmuls = *matmuls_, .memory = memory_, .type = kind_.type});
  // The multiplications' own interval, at the tallest product.
  const KernelTime product = matmuls_->Predict(
      {std::max<int64_t>(1, static_cast<int64_t>(std::min(ExpertRows(shape), 1e12))), shape.hidden,
       shape.intermediate});
  const double low = product.low.value() / product.expected.value();
  const double high = product.high.value() / product.expected.value();
  const PredictionError& error = source_.error;
  return {.expected = time * error.median,
          .low = time * (error.p10 * std::min(low, 1.0)),
          .high = time * (error.p90 * std::max(high, 1.0)),
          .basis = std::max(product.basis, KernelBasis::kOtherPass)};
}

KernelTime GroupedMatmulPredictor::PredictProduct(const GroupedProduct& product) const {
  if (!matmuls_.has_value()) return ProductOfLayer(product);
  const auto experts = static_cast<double>(product.experts);
  const ActiveExperts active = ActiveOf(experts, experts * product.rows_per_expert);
  const MatmulBatch batch = {WholeSize(active.experts), ShapeOf(product, active.padded_rows)};
  const KernelTime dense = matmuls_->PredictBatch(batch);
  const double seconds = dense.expected.value();
  const double weights = active.experts * static_cast<double>(product.n) *
                         static_cast<double>(product.k) * element_bytes_;
  const double least = memory_.value() > 0 ? weights / memory_.value() : 0;
  const double bare = seconds - matmuls_->QuantisedSeconds(StackedMatmul(batch), seconds);
  const PredictionError error = ErrorOfGroupedProducts(ProductsOf(kind_));
  // The batch's own doubt is what ErrorOfGroupedProducts() measured.
  const Widening doubt = {dense.low.value() / seconds / kMatmulBatch.low,
                          dense.high.value() / seconds / kMatmulBatch.high};
  return WithBothErrors(Seconds(GroupedFactor(error) * std::max(bare, least)), error, doubt,
                        std::max(dense.basis, KernelBasis::kOtherPass));
}

// A layer is two products of as many FLOPs, or three with a gate.
KernelTime GroupedMatmulPredictor::ProductOfLayer(const GroupedProduct& product) const {
  const double rows = std::max(1.0, product.rows_per_expert * static_cast<double>(product.experts));
  const KernelTime layer = Predict({.tokens = WholeSize(rows),
                                    .hidden = product.k,
                                    .intermediate = product.n,
                                    .experts_per_token = 1,
                                    .experts = product.experts,
                                    .expert_parallel = 1,
                                    .gated = false});
  const double share = kind_.gated ? 1.0 / 3 : 1.0 / 2;
  const PredictionError error = ErrorOfGroupedProducts(ProductsOf(kind_));
  return WithBothErrors(layer.expected * share, error,
                        {.low = layer.low.value() / layer.expected.value(),
                         .high = layer.high.value() / layer.expected.value()},
                        std::max(layer.basis, KernelBasis::kOtherPass));
}

void GroupedMatmulPredictor::Scale(const DeviceScale& scale) {
  if (scale.is_one()) return;
  scale_ = scale;
  if (matmuls_.has_value()) matmuls_->Scale(scale);
  memory_ = BytesPerSecond(memory_.value() / scale.bytes);
  scale.Cite(source_);
}

KernelTime GroupedMatmulPredictor::Scaled(const KernelTime& time,
                                          const GroupedMatmulShape& shape) const {
  if (!scale_.has_value()) return time;
  if (!matmuls_.has_value()) return scale_->Scaled(time, 1);
  const double experts = std::max(
      1.0, static_cast<double>(shape.experts) / static_cast<double>(shape.expert_parallel));
  const MatmulShape each = {WholeSize(ExpertRows(shape) / experts), shape.intermediate,
                            shape.hidden};
  return scale_->Scaled(time, matmuls_->WorkShare({WholeSize(experts), each}));
}

KernelTime GroupedMatmulPredictor::PerhapsWithoutPermuting(KernelTime time,
                                                           const GroupedMatmulShape& shape) const {
  constexpr double kMaxShare = 0.5;
  const double bytes = kPermutedLayerBytes * ExpertRows(shape) * static_cast<double>(shape.hidden);
  const double share = bytes / memory_.value() / time.expected.value();
  time.low = time.low * (1 - std::min(share, kMaxShare));
  return time;
}

KernelTime GroupedMatmulPredictor::Predict(const GroupedMatmulShape& shape) const {
  GroupedMatmulShape of_kind = shape;
  of_kind.gated = kind_.gated;
  KernelTime out;
  if (model_ == nullptr) {
    out = PerhapsWithoutPermuting(PredictByMatmuls(of_kind), of_kind);
  } else {
    out = Scaled(model_->Predict(of_kind), of_kind);
    if (own_ != nullptr) out = NoSurerThanAMedian(out);
    if (whole_layer_) out = PerhapsWithoutPermuting(out, of_kind);
  }
  if (other_scaling_) out = InOtherScaling(out);
  return equivalent_type_ ? AsEquivalentType(out) : out;
}

}  // namespace sextant
