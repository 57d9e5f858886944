#include "engine/hardware/predict/matmul_predictor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/matmul_model.h"
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

MatmulType Canonical(MatmulType type) { return {CanonicalType(type.data_type), type.scaling}; }

bool IsNear(int64_t one, int64_t other) { return one <= 2 * other && other <= 2 * one; }

// Each size within a factor of two.
bool IsNear(const MatmulShape& one, const MatmulShape& other) {
  return IsNear(one.m, other.m) && IsNear(one.n, other.n) && IsNear(one.k, other.k);
}

// `time` scaled by `factor`, with the uncertainty of kMatmulBatch.
KernelTime AsBatch(const KernelTime& time, double factor) {
  return Widened(time, factor, kMatmulBatch, KernelBasis::kOtherPass);
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

MatmulType ScaledMatmulType(DataType type, absl::optional<MatmulScaling> scaling) {
  MatmulType out = UsualMatmulType(type);
  if (scaling.has_value() && IsFp8(type)) out.scaling = *scaling;
  return out;
}

double QuantisedBytes(MatmulType type) {
  constexpr double kInput = 2;  // bf16
  if (type.scaling == MatmulScaling::kNone) return 0;
  switch (type.data_type) {
    case DataType::kFp8E4m3:
      return (type.scaling == MatmulScaling::kTensor ? 2 : 1) * kInput + 1;
    case DataType::kNvfp4:  // scales of blocks, and one of the tensor above them
      return 2 * kInput + 0.5;
    case DataType::kMxfp8:
      return kInput + 1;
    case DataType::kMxfp4:
      return kInput + 0.5;
    default:  // int8: the source does not say whether its layer's profile has the pass
      return 0;
  }
}

absl::optional<MatmulPredictor> MatmulPredictor::OfAccelerator(const Accelerator& accelerator,
                                                               DataType type) {
  return OfAccelerator(accelerator, {type, UsualMatmulType(type).scaling});
}

absl::optional<MatmulPredictor> MatmulPredictor::OfAccelerator(const Accelerator& accelerator,
                                                               MatmulType type) {
  absl::optional<MatmulPredictor> reference = OfReference(accelerator, type);
  if (!reference.has_value()) reference = OfSameChip(accelerator, type);
  if (reference.has_value()) return reference;
  return OfCeilings(DatasheetCeilings(accelerator, type.data_type), type);
}

// In the type itself, else in one of the same width and peak (fp16 for bf16, int8 for fp8). A type
// with another peak predicts worse than the datasheet: its kernels differ, and a time scaled by
// peaks may exceed the peak's rate.
absl::optional<MatmulPredictor> MatmulPredictor::OfReference(const Accelerator& accelerator,
                                                             MatmulType type) {
  constexpr double kLikePeak = 0.02;
  const MatmulType wanted = Canonical(type);
  const double peak = PeakIn(accelerator, type.data_type);
  const ReferenceMatmulKey* best = nullptr;
  const std::vector<ReferenceMatmulKey> keys = ReferenceMatmulKeys();
  for (const ReferenceMatmulKey& key : keys) {
    if (key.accelerator != accelerator.name) continue;
    const double other = PeakIn(accelerator, key.type.data_type);
    const bool like = peak > 0 && std::abs(other / peak - 1) < kLikePeak &&
                      IsNarrow(key.type.data_type) == IsNarrow(type.data_type);
    if (key.type == wanted || (like && best == nullptr)) best = &key;
    if (key.type == wanted) break;
  }
  if (best == nullptr) return absl::nullopt;
  MatmulPredictor out;
  out.type_ = type;
  out.model_ = ReferenceMatmuls(best->accelerator, best->type);
  if (out.model_ == nullptr) return absl::nullopt;
  out.SetModelRoofline(
      best->type == wanted
          ? absl::nullopt
          : absl::make_optional(OtherMatmulType{
                .type = wanted, .peak_ratio = peak / PeakIn(accelerator, best->type.data_type)}));
  out.version_ = WideningBeyond(out.model_->error(), kOtherVersion);
  const DatasheetValue& bandwidth = accelerator.memory_bandwidth_bytes_per_second;
  if (bandwidth) {
    out.quantise_seconds_ =
        QuantisedBytes(best->type) / (kQuantiseBandwidthShare * bandwidth.value);
  }
  out.source_ = {
      .source = RateSource::kReference,
      .citation = absl::StrCat(kMatmulTables, best->library, " ", MatmulTypeName(best->type)),
      .device = accelerator.name,
      .form = FormOf(out.model_->chosen().form),
      .error = out.model_->error()};
  return out;
}

absl::optional<MatmulPredictor> MatmulPredictor::OfSameChip(const Accelerator& accelerator,
                                                            MatmulType type) {
  const SameChip chip = SameChipOf(accelerator, type.data_type);
  if (!chip) return absl::nullopt;
  absl::optional<MatmulPredictor> out = OfReference(*chip.published, type);
  if (out.has_value()) out->chip_ = chip;
  return out;
}

absl::optional<MatmulPredictor> MatmulPredictor::OfCeilings(absl::optional<DeviceCeilings> ceilings,
                                                            MatmulType type) {
  if (!ceilings.has_value()) return absl::nullopt;
  MatmulPredictor out;
  out.type_ = type;
  out.ceilings_ = ceilings->ceilings;
  out.roofline_ = {.seconds_per_flop = 1 / out.ceilings_.matrix.value(),
                   .seconds_per_byte = 1 / out.ceilings_.memory.value(),
                   .fixed_seconds = out.ceilings_.floor.value()};
  SetMatmulBytes(type, out.roofline_);
  out.quantise_seconds_ = QuantisedBytes(Canonical(type)) / out.ceilings_.memory.value();
  out.source_ = std::move(ceilings->source);
  out.source_.error = ErrorUnderCeilings(out.ceilings_.basis, type.data_type);
  return out;
}

absl::StatusOr<MatmulPredictor> MatmulPredictor::OfOwn(const MeasuredKernels& measured,
                                                       const MeasuredMatmulPoints& points,
                                                       MatmulType type) {
  const Accelerator* const accelerator = measured.calibration->accelerator;
  const MatmulType of_points = UsualMatmulType(type.data_type);
  MatmulCalibration calibration = {.type = of_points, .points = points.matmuls};
  if (accelerator != nullptr && accelerator->compute_unit_count) {
    calibration.compute_units = static_cast<int64_t>(accelerator->compute_unit_count.value);
  }
  SEXTANT_ASSIGN_OR_RETURN(MatmulModel model, MatmulModel::Of(calibration));
  MatmulPredictor out;
  out.type_ = type;
  out.own_ = std::make_shared<const MatmulModel>(std::move(model));
  out.model_ = out.own_.get();
  const MatmulType wanted = Canonical(type);
  out.SetModelRoofline(wanted == of_points ? absl::nullopt
                                           : absl::make_optional(OtherMatmulType{.type = wanted}));
  for (const MatmulPoint& point : points.matmuls) {
    if (MatmulSlowdownOf({.each = point.shape}) != MatmulSlowdown()) {
      out.own_unaligned_.push_back(point.shape);
    }
  }
  out.source_ = SourceOfMeasured(measured);
  out.source_.form = FormOf(out.model_->chosen().form);
  out.source_.error = out.model_->error();
  return out;
}

absl::StatusOr<absl::optional<MatmulPredictor>> MatmulPredictor::OfMeasured(
    const MeasuredKernels& measured, DataType type) {
  return OfMeasured(measured, {type, UsualMatmulType(type).scaling});
}

absl::StatusOr<absl::optional<MatmulPredictor>> MatmulPredictor::OfMeasured(
    const MeasuredKernels& measured, MatmulType type) {
  const Accelerator* const accelerator = measured.calibration->accelerator;
  absl::optional<MatmulPredictor> out;
  if (IsFp8(type.data_type) && type.scaling == MatmulScaling::kBlock && accelerator != nullptr) {
    out = OfReference(*accelerator, type);
    if (out.has_value() && !out->other_.has_value()) return out;
    out.reset();
  }
  for (const MeasuredMatmulPoints& each : measured.matmuls) {
    if (each.data_type != type.data_type || each.matmuls.size() < kMinMatmulPoints) continue;
    SEXTANT_ASSIGN_OR_RETURN(out, OfOwn(measured, each, type));
    break;
  }
  if (!out.has_value()) out = OfCeilings(MeasuredCeilings(measured, type.data_type), type);
  if (!out.has_value() && accelerator != nullptr) out = OfAccelerator(*accelerator, type);
  if (out.has_value()) out->has_slowdown_ = !measured.calibration->processor;
  return out;
}

void MatmulPredictor::SetModelRoofline(absl::optional<OtherMatmulType> other) {
  other_ = std::move(other);
  roofline_ = model_->fit().roofline;
  if (!other_.has_value()) return;
  roofline_.seconds_per_flop /= other_->peak_ratio;
  SetMatmulBytes(other_->type, roofline_);
}

KernelTime MatmulPredictor::PredictAligned(const MatmulShape& shape) const {
  if (model_ == nullptr) {
    return TimeUnderCeilings(WorkOf({.each = shape}, type_.data_type), ceilings_, source_.error);
  }
  KernelTime out =
      other_.has_value() ? model_->PredictOtherType(shape, *other_) : model_->Predict(shape);
  out.low = out.low * version_.low;
  out.high = out.high * version_.high;
  return chip_ ? chip_.Scaled(out, WorkShare(shape)) : out;
}

void MatmulPredictor::Scale(const DeviceScale& scale) {
  if (scale.is_one()) return;
  scale_ = scale;
  quantise_seconds_ *= scale.bytes;
  scale.Cite(source_);
}

KernelTime MatmulPredictor::Predict(const MatmulShape& shape) const {
  KernelTime out = PredictAligned(shape);
  if (!IsAligned(shape)) SlowDown({.each = shape}, out);
  return scale_.has_value() ? scale_->Scaled(out, WorkShare(shape)) : out;
}

void MatmulPredictor::SlowDown(const MatmulBatch& matmul, KernelTime& time) const {
  const MatmulSlowdown slowdown = SlowdownOf(matmul);
  if (slowdown.high > 1) time = Slowed(time, slowdown, WorkShare(matmul));
}

double MatmulPredictor::QuantisedSeconds(const MatmulShape& shape, double seconds) const {
  const MatmulDimensions size(shape);
  return std::min(quantise_seconds_ * size.m * size.k, kMaxQuantised * seconds);
}

KernelTime MatmulPredictor::PredictQuantised(const MatmulShape& shape) const {
  KernelTime out = Predict(shape);
  if (quantise_seconds_ == 0) return out;
  const double seconds = out.expected.value();
  const MatmulDimensions size(shape);
  const double share = quantise_seconds_ * size.m * size.k / seconds;
  out.expected = Seconds(seconds - QuantisedSeconds(shape, seconds));
  out.low = out.low * (1 - std::min(kMaxQuantise * share, kMaxQuantisedEver));
  out.high = out.high * (1 - std::min(kMinQuantise * share, kMaxQuantised));
  return out;
}

KernelTime MatmulPredictor::PredictBatch(const MatmulBatch& matmul) const {
  if (matmul.batch == 1) return Predict(matmul.each);
  KernelTime out = PredictAlignedBatch(matmul);
  SlowDown(matmul, out);
  return scale_.has_value() ? scale_->Scaled(out, WorkShare(matmul)) : out;
}

KernelTime MatmulPredictor::PredictAlignedBatch(const MatmulBatch& matmul) const {
  if (model_ == nullptr) {
    return AsBatch(TimeUnderCeilings(WorkOf(matmul, type_.data_type), ceilings_, source_.error), 1);
  }
  const MatmulShape stacked = StackedMatmul(matmul);
  const KernelTime time = PredictAligned(stacked);
  const MatmulDimensions each(matmul.each);
  const double unshared = static_cast<double>(matmul.batch - 1) * each.n * each.k;
  const double more = unshared * roofline_.element_bytes * roofline_.seconds_per_byte;
  return AsBatch(
      time, 1 + LongerRoof(roofline_, MatmulDimensions(stacked), more) / time.expected.value());
}

double MatmulPredictor::WorkShare(const MatmulBatch& matmul) const {
  const auto batch = static_cast<double>(matmul.batch);
  const MatmulDimensions each(matmul.each);
  const double work = batch * roofline_.WorkSeconds(each);
  const double bytes = batch * roofline_.ByteSeconds(each);
  const double roof = std::sqrt(work * work + bytes * bytes);
  return work / roof * (work / (roof + roofline_.fixed_seconds));
}

MatmulSlowdown MatmulPredictor::SlowdownOf(const MatmulBatch& matmul) const {
  const MatmulSlowdown out = has_slowdown_ ? MatmulSlowdownOf(matmul) : MatmulSlowdown();
  if (out.high == 1 || matmul.batch > 1) return out;
  for (const MatmulShape& measured : own_unaligned_) {
    if (IsNear(measured, matmul.each)) return {};
  }
  return out;
}

std::vector<MatmulPoint> MatmulPredictor::Nearest(const MatmulShape& shape, size_t most) const {
  return model_ == nullptr ? std::vector<MatmulPoint>() : model_->Nearest(shape, most);
}

}  // namespace sextant
