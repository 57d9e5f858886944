#include "engine/hardware/predict/attention_predictor.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/hardware/kernels/gemm_shape.h"
#include "engine/hardware/reference/attention_reference.h"

namespace sextant {
namespace {

constexpr char kAttentionTables[] = "ai-dynamo/aiconfigurator @095f58a51c4c, attention, ";

// The type that tables call fp8.
DataType TabledType(DataType type) {
  return type == DataType::kFp8 || type == DataType::kFp8E5m2 ? DataType::kFp8E4m3 : type;
}

KernelTime Scaled(KernelTime time, double by, Widening widening) {
  return {.expected = time.expected * by,
          .low = time.low * (by * widening.low),
          .high = time.high * (by * widening.high),
          .basis = time.basis};
}

}  // namespace

PredictionError AttentionErrorUnderRoofs(DataType type) {
  return IsNarrow(type) ? PredictionError{.p10 = 1.62, .median = 2.25, .p90 = 3.92}
                        : PredictionError{.p10 = 1.27, .median = 1.46, .p90 = 1.98};
}

// Built at each call: some milliseconds.
absl::optional<AttentionPredictor> AttentionPredictor::OfReference(const Accelerator& accelerator,
                                                                   DataType type) {
  const AttentionReference* reference =
      FindAttentionReference(accelerator.name, TabledType(type), false);
  if (reference == nullptr) return absl::nullopt;
  const std::vector<AttentionPoint> points = PointsOf(*reference);
  AttentionCalibration calibration = {.points = points};
  if (accelerator.compute_unit_count) {
    calibration.compute_units = static_cast<int64_t>(accelerator.compute_unit_count.value);
  }
  absl::StatusOr<AttentionModel> model = AttentionModel::Of(calibration);
  if (!model.ok()) return absl::nullopt;  // tests make each of them
  AttentionPredictor out;
  out.type_ = type;
  out.model_ = std::make_shared<const AttentionModel>(*std::move(model));
  out.source_ = {.source = RateSource::kReference,
                 .citation = absl::StrCat(kAttentionTables, reference->kernel),
                 .device = accelerator.name,
                 .form = "terms",
                 .error = out.model_->error()};
  return out;
}

absl::optional<AttentionPredictor> AttentionPredictor::OfRoofs(absl::optional<DeviceRoofs> roofs,
                                                               DataType type) {
  if (!roofs.has_value()) return absl::nullopt;
  AttentionPredictor out;
  out.type_ = type;
  out.roofs_ = roofs->roofs;
  out.source_ = std::move(roofs->source);
  out.source_.error = AttentionErrorUnderRoofs(type);
  return out;
}

absl::optional<AttentionPredictor> AttentionPredictor::OfAccelerator(const Accelerator& accelerator,
                                                                     DataType type) {
  absl::optional<AttentionPredictor> reference = OfReference(accelerator, type);
  if (reference.has_value()) return reference;
  return OfRoofs(DatasheetRoofs(accelerator, type), type);
}

absl::optional<AttentionPredictor> AttentionPredictor::OfMeasured(const MeasuredKernels& measured,
                                                                  DataType type) {
  const Accelerator* const accelerator = measured.calibration->accelerator;
  absl::optional<AttentionPredictor> out;
  if (accelerator != nullptr) out = OfReference(*accelerator, type);
  if (!out.has_value()) out = OfRoofs(MeasuredRoofs(measured, type), type);
  if (!out.has_value() && accelerator != nullptr) out = OfAccelerator(*accelerator, type);
  return out;
}

KernelTime AttentionPredictor::Predict(const AttentionShape& shape) const {
  if (model_ != nullptr) return model_->Predict(shape);
  const double moved = AttentionElements(shape) * GemmElementBytes(type_);
  const double compute = AttentionFlops(shape) / roofs_.matrix.value();
  const Seconds time(std::hypot(compute, moved / roofs_.memory.value()) + roofs_.floor.value());
  const PredictionError& error = source_.error;
  return {.expected = time * error.median,
          .low = time * error.p10,
          .high = time * error.p90,
          .basis = roofs_.basis};
}

KernelTime AttentionPredictor::PredictBackward(const AttentionShape& shape) const {
  if (model_ != nullptr) return model_->PredictBackward(shape);
  return Scaled(Predict(shape), AttentionFallbacks::kBackwardOverForward,
                AttentionFallbacks::kBackward);
}

}  // namespace sextant
