#include "engine/hardware/predict/matmul_predictor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/matmul_roofline.h"
#include "engine/hardware/reference/reference_matmuls.h"

namespace sextant {
namespace {

constexpr char kMatmulTables[] = "ai-dynamo/aiconfigurator @095f58a51c4c, GEMM, ";

PredictionForm FormOf(MatmulForm form) {
  return form == MatmulForm::kGrid ? PredictionForm::kGrid : PredictionForm::kTiles;
}

double PeakIn(const Accelerator& accelerator, DataType type) {
  const DatasheetValue peak = PeakFlopsPerSecond(accelerator, type);
  return peak ? peak.value : 0;
}

KernelWork WorkOf(const MatmulBatch& matmul, DataType type) {
  const auto batch = static_cast<double>(matmul.batch);
  const MatmulDimensions each(matmul.each);
  constexpr double kOutputBytes = 2;  // a narrow type's outputs are bf16
  const double element = MatmulElementBytes(type);
  const double bytes =
      element * each.k * (each.m + each.n) + std::max(element, kOutputBytes) * each.m * each.n;
  return {.flops = MatmulFlops(matmul.each) * batch, .moved_bytes = batch * bytes};
}

// The increase of the roofline by `more` seconds of moving bytes.
double LongerRoof(const MatmulRoofline& roofline, const MatmulDimensions& size, double more) {
  const double work = roofline.WorkSeconds(size);
  const double bytes = roofline.ByteSeconds(size);
  return std::hypot(work, bytes + more) - std::hypot(work, bytes);
}

// `time` scaled by `factor`, with the uncertainty of kMatmulBatch.
KernelTime AsBatch(const KernelTime& time, double factor) {
  return {.expected = time.expected * factor,
          .low = time.low * (factor * kMatmulBatch.low),
          .high = time.high * (factor * kMatmulBatch.high),
          .basis = std::max(time.basis, KernelBasis::kOtherPass)};
}

}  // namespace

MatmulType UsualMatmulType(DataType type) {
  switch (type) {
    case DataType::kFp8:
    case DataType::kFp8E4m3:
    case DataType::kFp8E5m2:
      return {DataType::kFp8E4m3, MatmulScaling::kTensor};
    case DataType::kInt8:
      return {type, MatmulScaling::kTensor};
    case DataType::kMxfp8:
    case DataType::kMxfp4:
    case DataType::kNvfp4:
      return {type, MatmulScaling::kBlock};
    default:
      return {type, MatmulScaling::kNone};
  }
}

absl::optional<MatmulPredictor> MatmulPredictor::OfAccelerator(const Accelerator& accelerator,
                                                               DataType type) {
  absl::optional<MatmulPredictor> reference = OfReference(accelerator, type);
  if (reference.has_value()) return reference;
  return OfCeilings(DatasheetCeilings(accelerator, type), type);
}

// In the type itself, else in one of the same width and peak (fp16 for bf16, int8 for fp8). A type
// with another peak predicts worse than the datasheet: its kernels differ, and a time scaled by
// peaks may exceed the peak's rate.
absl::optional<MatmulPredictor> MatmulPredictor::OfReference(const Accelerator& accelerator,
                                                             DataType type) {
  constexpr double kLikePeak = 0.02;
  const MatmulType wanted = UsualMatmulType(type);
  const double peak = PeakIn(accelerator, type);
  const ReferenceMatmulKey* best = nullptr;
  const std::vector<ReferenceMatmulKey> keys = ReferenceMatmulKeys();
  for (const ReferenceMatmulKey& key : keys) {
    if (key.accelerator != accelerator.name) continue;
    const double other = PeakIn(accelerator, key.type.data_type);
    const bool like = peak > 0 && std::abs(other / peak - 1) < kLikePeak &&
                      IsNarrow(key.type.data_type) == IsNarrow(type);
    if (key.type == wanted || (like && best == nullptr)) best = &key;
    if (key.type == wanted) break;
  }
  if (best == nullptr) return absl::nullopt;
  MatmulPredictor out;
  out.type_ = type;
  out.model_ = ReferenceMatmuls(best->accelerator, best->type);
  if (out.model_ == nullptr) return absl::nullopt;
  if (best->type != wanted) {
    out.other_ = OtherMatmulType{.type = wanted,
                                 .peak_ratio = peak / PeakIn(accelerator, best->type.data_type)};
  }
  out.source_ = {
      .source = RateSource::kReference,
      .citation = absl::StrCat(kMatmulTables, best->library, " ", MatmulTypeName(best->type)),
      .device = accelerator.name,
      .form = FormOf(out.model_->chosen().form),
      .error = out.model_->error()};
  return out;
}

absl::optional<MatmulPredictor> MatmulPredictor::OfCeilings(absl::optional<DeviceCeilings> ceilings,
                                                            DataType type) {
  if (!ceilings.has_value()) return absl::nullopt;
  MatmulPredictor out;
  out.type_ = type;
  out.ceilings_ = ceilings->ceilings;
  out.source_ = std::move(ceilings->source);
  out.source_.error = ErrorUnderCeilings(out.ceilings_.basis, type);
  return out;
}

absl::StatusOr<absl::optional<MatmulPredictor>> MatmulPredictor::OfMeasured(
    const MeasuredKernels& measured, DataType type) {
  const Accelerator* const accelerator = measured.calibration->accelerator;
  for (const MeasuredMatmulPoints& each : measured.matmuls) {
    if (each.data_type != type || each.matmuls.size() < kMinMatmulPoints) continue;
    MatmulCalibration calibration = {.type = UsualMatmulType(type), .points = each.matmuls};
    if (accelerator != nullptr && accelerator->compute_unit_count) {
      calibration.compute_units = static_cast<int64_t>(accelerator->compute_unit_count.value);
    }
    SEXTANT_ASSIGN_OR_RETURN(MatmulModel model, MatmulModel::Of(calibration));
    MatmulPredictor out;
    out.type_ = type;
    out.own_ = std::make_shared<const MatmulModel>(std::move(model));
    out.model_ = out.own_.get();
    out.source_ = SourceOfMeasured(measured);
    out.source_.form = FormOf(out.model_->chosen().form);
    out.source_.error = out.model_->error();
    return absl::make_optional(std::move(out));
  }
  absl::optional<MatmulPredictor> rates = OfCeilings(MeasuredCeilings(measured, type), type);
  if (rates.has_value() || accelerator == nullptr) return rates;
  return OfAccelerator(*accelerator, type);
}

KernelTime MatmulPredictor::Predict(const MatmulShape& shape) const {
  if (model_ == nullptr)
    return TimeUnderCeilings(WorkOf({.each = shape}, type_), ceilings_, source_.error);
  return other_.has_value() ? model_->PredictOtherType(shape, *other_) : model_->Predict(shape);
}

KernelTime MatmulPredictor::PredictBatch(const MatmulBatch& matmul) const {
  if (matmul.batch == 1) return Predict(matmul.each);
  if (model_ == nullptr)
    return AsBatch(TimeUnderCeilings(WorkOf(matmul, type_), ceilings_, source_.error), 1);
  MatmulRoofline roofline = model_->fit().roofline;
  if (other_.has_value()) {
    roofline.seconds_per_flop /= other_->peak_ratio;
    SetMatmulBytes(other_->type, roofline);
  }
  const MatmulShape stacked = StackedMatmul(matmul);
  const KernelTime time = Predict(stacked);
  const MatmulDimensions each(matmul.each);
  const double unshared = static_cast<double>(matmul.batch - 1) * each.n * each.k;
  const double more = unshared * roofline.element_bytes * roofline.seconds_per_byte;
  return AsBatch(time,
                 1 + LongerRoof(roofline, MatmulDimensions(stacked), more) / time.expected.value());
}

std::vector<MatmulPoint> MatmulPredictor::Nearest(const MatmulShape& shape, size_t most) const {
  return model_ == nullptr ? std::vector<MatmulPoint>() : model_->Nearest(shape, most);
}

}  // namespace sextant
