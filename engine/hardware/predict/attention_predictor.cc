#include "engine/hardware/predict/attention_predictor.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/attention_model.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/matmul_shape.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/hardware/reference/reference_kernels.h"

namespace sextant {
namespace {

constexpr char kAttentionTables[] = "ai-dynamo/aiconfigurator @095f58a51c4c, attention, ";

using OptionalAttention = absl::optional<AttentionPredictor>;

bool OfOneClass(const AttentionShape& a, const AttentionShape& b) {
  return a.causal == b.causal && a.window == b.window &&
         a.query_key_head_size == b.query_key_head_size && a.value_head_size == b.value_head_size;
}

// The points of classes (head sizes, mask and window) with enough points to fit.
std::vector<AttentionPoint> OfWholeClasses(absl::Span<const AttentionPoint> points) {
  std::vector<AttentionPoint> out;
  for (const AttentionPoint& point : points) {
    const auto like = std::count_if(points.begin(), points.end(), [&](const AttentionPoint& p) {
      return OfOneClass(p.shape, point.shape);
    });
    if (like >= AttentionModel::kMinPoints) out.push_back(point);
  }
  return out;
}

const MeasuredAttentions* AttentionsIn(const MeasuredKernels& measured, DataType type) {
  for (const MeasuredAttentions& each : measured.attentions) {
    if (each.data_type == type) return &each;
  }
  return nullptr;
}

// As reported by the device, else by its datasheet; 1: unknown, waves are not modelled.
int64_t ComputeUnitsOf(const DeviceCalibration& calibration) {
  if (calibration.compute_unit_count > 0) {
    return std::min(calibration.compute_unit_count, kMaxComputeUnits);
  }
  const Accelerator* const accelerator = calibration.accelerator;
  if (accelerator == nullptr || !accelerator->compute_unit_count) return 1;
  return static_cast<int64_t>(accelerator->compute_unit_count.value);
}

}  // namespace

PredictionError AttentionErrorUnderCeilings(DataType type) {
  return IsNarrow(type) ? PredictionError{.p10 = 1.62, .median = 2.25, .p90 = 3.92}
                        : PredictionError{.p10 = 1.27, .median = 1.46, .p90 = 1.98};
}

absl::StatusOr<absl::optional<AttentionPredictor::Stand>> AttentionPredictor::OwnStand(
    const MeasuredKernels& measured, absl::Span<const AttentionPoint> points) {
  const std::vector<AttentionPoint> fitted = OfWholeClasses(points);
  if (fitted.empty()) return absl::optional<Stand>();
  SEXTANT_ASSIGN_OR_RETURN(
      AttentionModel model,
      AttentionModel::Of(
          {.compute_units = ComputeUnitsOf(*measured.calibration), .points = fitted}));
  Stand out = {.source = SourceOfMeasured(measured),
               .own = std::make_shared<const AttentionModel>(std::move(model))};
  out.model = out.own.get();
  out.source.form = PredictionForm::kTerms;
  out.source.error = out.model->error();
  return absl::make_optional(std::move(out));
}

absl::StatusOr<OptionalAttention> AttentionPredictor::OfOwn(const MeasuredKernels& measured,
                                                            DataType type) {
  const MeasuredAttentions* const attentions = AttentionsIn(measured, CanonicalType(type));
  if (attentions == nullptr) return OptionalAttention();
  SEXTANT_ASSIGN_OR_RETURN(absl::optional<Stand> stand, OwnStand(measured, attentions->forward));
  if (!stand.has_value()) return OptionalAttention();
  AttentionPredictor out(type);
  out.forward_ = *std::move(stand);
  return absl::make_optional(std::move(out));
}

absl::StatusOr<absl::optional<AttentionPredictor::Stand>> AttentionPredictor::OwnBackward(
    const MeasuredKernels& measured, DataType type) {
  for (const DataType each : {CanonicalType(type), EquivalentType(type)}) {
    const MeasuredAttentions* const attentions = AttentionsIn(measured, each);
    if (attentions == nullptr) continue;
    SEXTANT_ASSIGN_OR_RETURN(absl::optional<Stand> stand, OwnStand(measured, attentions->backward));
    if (!stand.has_value()) continue;
    stand->equivalent_type = each != CanonicalType(type);
    return stand;
  }
  return absl::optional<Stand>();
}

OptionalAttention AttentionPredictor::OfReference(const Accelerator& accelerator, DataType type) {
  const auto stand_on = [&](bool latent) -> absl::optional<Stand> {
    const AttentionReference* reference =
        FindAttentionReference(accelerator.name, CanonicalType(type), latent);
    if (reference == nullptr) return absl::nullopt;
    const AttentionModel* const model = ReferenceModel(*reference);
    if (model == nullptr) return absl::nullopt;
    return Stand{.source = {.source = RateSource::kReference,
                            .citation = absl::StrCat(kAttentionTables, reference->kernel),
                            .device = accelerator.name,
                            .form = PredictionForm::kTerms,
                            .error = model->error()},
                 .model = model};
  };
  absl::optional<Stand> plain = stand_on(false);
  if (!plain.has_value()) return absl::nullopt;
  AttentionPredictor out(type);
  out.forward_ = *std::move(plain);
  out.latent_ = stand_on(true);
  return out;
}

OptionalAttention AttentionPredictor::OfCeilings(absl::optional<DeviceCeilings> ceilings,
                                                 DataType type) {
  if (!ceilings.has_value()) return absl::nullopt;
  AttentionPredictor out(type);
  out.forward_.ceilings = ceilings->ceilings;
  out.forward_.source = std::move(ceilings->source);
  out.forward_.source.error = AttentionErrorUnderCeilings(type);
  return out;
}

OptionalAttention AttentionPredictor::AsLike(OptionalAttention other, DataType type) {
  if (!other.has_value()) return other;
  other->type_ = type;
  other->forward_.equivalent_type = true;
  if (other->latent_.has_value()) other->latent_->equivalent_type = true;
  return other;
}

OptionalAttention AttentionPredictor::OfAccelerator(const Accelerator& accelerator, DataType type) {
  OptionalAttention out = OfReference(accelerator, type);
  if (!out.has_value()) out = AsLike(OfReference(accelerator, EquivalentType(type)), type);
  const SameChip chip = out.has_value() ? SameChip() : SameChipOf(accelerator, type);
  if (chip) {
    out = OfAccelerator(*chip.published, type);
    if (out.has_value()) out->chip_ = chip;
  }
  if (!out.has_value()) out = OfCeilings(DatasheetCeilings(accelerator, type), type);
  return out;
}

absl::StatusOr<OptionalAttention> AttentionPredictor::OfMeasured(const MeasuredKernels& measured,
                                                                 DataType type) {
  const Accelerator* const accelerator = measured.calibration->accelerator;
  SEXTANT_ASSIGN_OR_RETURN(OptionalAttention out, OfOwn(measured, type));
  if (!out.has_value() && accelerator != nullptr) out = OfReference(*accelerator, type);
  if (!out.has_value()) {
    SEXTANT_ASSIGN_OR_RETURN(OptionalAttention like, OfOwn(measured, EquivalentType(type)));
    if (!like.has_value() && accelerator != nullptr) {
      like = OfReference(*accelerator, EquivalentType(type));
    }
    out = AsLike(std::move(like), type);
  }
  if (!out.has_value()) out = OfCeilings(MeasuredCeilings(measured, type), type);
  if (!out.has_value() && accelerator != nullptr) out = OfAccelerator(*accelerator, type);
  if (out.has_value()) {
    SEXTANT_ASSIGN_OR_RETURN(out->backward_, OwnBackward(measured, type));
  }
  return out;
}

const AttentionPredictor::Stand& AttentionPredictor::ForwardStand(
    const AttentionShape& shape) const {
  const bool latent = shape.query_key_head_size > shape.value_head_size;
  return latent && latent_.has_value() ? *latent_ : forward_;
}

KernelTime AttentionPredictor::TimeBy(const Stand& stand, const AttentionShape& shape) const {
  if (stand.model == nullptr) {
    const KernelWork work = {.flops = Flops(AttentionFlops(shape)),
                             .moved_bytes = AttentionElements(shape) * MatmulElementBytes(type_)};
    return Widened(TimeUnderCeilings(work, stand.ceilings, stand.source.error), 1,
                   AttentionFallbacks::OfLengths(shape));
  }
  KernelTime time = stand.model->Predict(shape);
  if (stand.own != nullptr) time = NoSurerThanAMedian(time);
  return stand.equivalent_type ? AsEquivalentType(time) : time;
}

void AttentionPredictor::Scale(const DeviceScale& scale) {
  if (scale.work == 1) return;
  scale_ = scale.work;
  scale.Cite(forward_.source);
  if (latent_.has_value()) scale.Cite(latent_->source);
  if (backward_.has_value()) scale.Cite(backward_->source);
}

KernelTime AttentionPredictor::Predict(const AttentionShape& shape) const {
  const KernelTime time = TimeBy(ForwardStand(shape), shape);
  return (chip_ ? chip_.Scaled(time, 1) : time) * scale_;
}

KernelTime AttentionPredictor::BackwardByForward(const AttentionShape& shape) const {
  const Stand& stand = ForwardStand(shape);
  if (stand.model == nullptr) {
    return Widened(TimeBy(stand, shape), AttentionFallbacks::kBackwardOverForward,
                   AttentionFallbacks::kBackward);
  }
  KernelTime time = stand.model->PredictBackward(shape);
  if (chip_) time = chip_.Scaled(time, 1);
  return stand.equivalent_type ? AsEquivalentType(time) : time;
}

// For a head size and mask with only forward measurements, the forward pass is the better basis.
bool AttentionPredictor::HasBackwardOf(const AttentionShape& shape) const {
  if (!backward_.has_value()) return false;
  const AttentionModel* const forward = ForwardStand(shape).model;
  return backward_->model->Knows(shape) || forward == nullptr || !forward->Knows(shape);
}

KernelTime AttentionPredictor::PredictBackward(const AttentionShape& shape) const {
  return (HasBackwardOf(shape) ? TimeBy(*backward_, shape) : BackwardByForward(shape)) * scale_;
}

const KernelSource& AttentionPredictor::SourceOf(const AttentionShape& shape) const {
  return ForwardStand(shape).source;
}

const KernelSource& AttentionPredictor::BackwardSourceOf(const AttentionShape& shape) const {
  return HasBackwardOf(shape) ? backward_->source : SourceOf(shape);
}

}  // namespace sextant
