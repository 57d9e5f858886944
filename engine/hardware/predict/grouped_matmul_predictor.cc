#include "engine/hardware/predict/grouped_matmul_predictor.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/matmul_shape.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/hardware/reference/reference_models.h"

namespace sextant {
namespace {

constexpr double kActivationBytes = 2;  // bf16, for all matrix types

int64_t WholeSize(double size) {
  return static_cast<int64_t>(std::clamp(size, 1.0, static_cast<double>(kMaxKernelSize)));
}

// One matrix of each expert.
struct GroupedProduct {
  double experts = 1;
  double rows = 1;  // per expert
  double n = 1;
  double k = 1;
};

double SecondsOf(const GroupedProduct& product, const UngroupedProducts& by) {
  const MatmulShape together = {WholeSize(product.experts * product.rows), WholeSize(product.n),
                                WholeSize(product.k)};
  const double other_weights = (product.experts - 1) * product.n * product.k;
  return std::hypot(by.matmuls.Predict(together).expected.value(),
                    other_weights * MatmulElementBytes(by.type) / by.memory.value());
}

constexpr char kLayersSource[] = "ai-dynamo/aiconfigurator @095f58a51c4c, layers of experts, ";

using OptionalPredictor = absl::optional<GroupedMatmulPredictor>;

KernelTime Widened(const KernelTime& time, Widening by) {
  return {.expected = time.expected,
          .low = time.low * by.low,
          .high = time.high * by.high,
          .basis = time.basis};
}

}  // namespace

Seconds ExpertsByMatmuls(const GroupedMatmulShape& shape, const UngroupedProducts& products) {
  const auto hidden = static_cast<double>(shape.hidden);
  const auto inner = static_cast<double>(shape.intermediate);
  const double up = shape.gated ? 2 * inner : inner;
  const double rows = std::max(ExpertRows(shape), 1.0);
  const double local =
      static_cast<double>(shape.experts) / static_cast<double>(shape.expert_parallel);
  const double active = std::max(1.0, std::min(local, rows));
  constexpr auto kTile = static_cast<double>(kGroupedRowTile);
  const double filled = std::ceil(rows / active / kTile) * kTile;
  const double activation = rows * (up + inner) * kActivationBytes / products.memory.value();
  return Seconds(SecondsOf({.experts = active, .rows = filled, .n = up, .k = hidden}, products) +
                 SecondsOf({.experts = active, .rows = filled, .n = hidden, .k = inner}, products) +
                 activation);
}

PredictionError ErrorOfExpertsByMatmuls(DataType type) {
  return IsNarrow(type) ? PredictionError{.p10 = 0.94, .median = 1.40, .p90 = 3.25}
                        : PredictionError{.p10 = 0.98, .median = 1.50, .p90 = 4.46};
}

absl::StatusOr<OptionalPredictor> GroupedMatmulPredictor::OfOwn(const MeasuredKernels& measured,
                                                                ExpertsKind kind) {
  std::vector<GroupedMatmulPoint> points;
  for (const MeasuredExperts& each : measured.experts) {
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
                                  .block_scaled = false,
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

OptionalPredictor GroupedMatmulPredictor::OfMatmuls(absl::optional<MatmulPredictor> matmuls,
                                                    const absl::optional<DeviceCeilings>& ceilings,
                                                    ExpertsKind kind) {
  if (!matmuls.has_value() || !ceilings.has_value()) return absl::nullopt;
  GroupedMatmulPredictor out;
  out.kind_ = kind;
  out.memory_ = ceilings->ceilings.memory;
  out.source_ = matmuls->source();
  out.source_.citation =
      absl::StrCat("sum of an expert's products, each from ", out.source_.citation);
  out.source_.form = PredictionForm::kProducts;
  out.source_.error = ErrorOfExpertsByMatmuls(kind.type);
  out.matmuls_ = std::move(matmuls);
  return out;
}

OptionalPredictor GroupedMatmulPredictor::OfAccelerator(const Accelerator& accelerator,
                                                        ExpertsKind kind) {
  OptionalPredictor out = OfReference(accelerator, kind);
  if (out.has_value()) return out;
  out = OfReference(accelerator, {EquivalentType(kind.type), kind.gated});
  if (out.has_value()) {
    out->equivalent_type_ = true;
    return out;
  }
  return OfMatmuls(MatmulPredictor::OfAccelerator(accelerator, kind.type),
                   DatasheetCeilings(accelerator, kind.type), kind);
}

absl::StatusOr<OptionalPredictor> GroupedMatmulPredictor::OfMeasured(
    const MeasuredKernels& measured, ExpertsKind kind, MatmulsOfDevice matmuls) {
  const Accelerator* const accelerator = measured.calibration->accelerator;
  SEXTANT_ASSIGN_OR_RETURN(OptionalPredictor out, OfOwn(measured, kind));
  if (!out.has_value() && accelerator != nullptr) out = OfReference(*accelerator, kind);
  if (out.has_value()) return out;
  const ExpertsKind like = {EquivalentType(kind.type), kind.gated};
  SEXTANT_ASSIGN_OR_RETURN(out, OfOwn(measured, like));
  if (!out.has_value() && accelerator != nullptr) out = OfReference(*accelerator, like);
  if (out.has_value()) {
    out->equivalent_type_ = true;
    return out;
  }
  SEXTANT_ASSIGN_OR_RETURN(absl::optional<MatmulPredictor> products, matmuls(kind.type));
  absl::optional<DeviceCeilings> ceilings = MeasuredCeilings(measured, kind.type);
  if (!ceilings.has_value() && accelerator != nullptr)
    ceilings = DatasheetCeilings(*accelerator, kind.type);
  return OfMatmuls(std::move(products), ceilings, kind);
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

KernelTime GroupedMatmulPredictor::Predict(const GroupedMatmulShape& shape) const {
  GroupedMatmulShape of_kind = shape;
  of_kind.gated = kind_.gated;
  if (model_ == nullptr) return Widened(PredictByMatmuls(of_kind), kWholeLayerOfExperts);
  KernelTime out = model_->Predict(of_kind);
  if (own_ != nullptr) out = NoSurerThanAMedian(out);
  if (whole_layer_) out = Widened(out, kWholeLayerOfExperts);
  return equivalent_type_ ? AsEquivalentType(out) : out;
}

}  // namespace sextant
