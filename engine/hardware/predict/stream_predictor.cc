#include "engine/hardware/predict/stream_predictor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/kernels/achieved_fraction.h"

namespace sextant {
namespace {

// Registers hold half as many numbers; the datasheets of A100, H100 and H200 have this ratio.
constexpr double kUsualFp64Ratio = 2;

double FlopsRatio(const Accelerator* accelerator, DataType type) {
  if (type != DataType::kFp64) return 1;
  if (accelerator == nullptr || !accelerator->fp32_flops_per_second ||
      !accelerator->fp64_flops_per_second) {
    return kUsualFp64Ratio;
  }
  return accelerator->fp32_flops_per_second.value / accelerator->fp64_flops_per_second.value;
}

absl::optional<FlopsPerSecond> DatasheetArithmetic(const Accelerator* accelerator) {
  if (accelerator == nullptr || !accelerator->fp32_flops_per_second) return absl::nullopt;
  return FlopsPerSecond(accelerator->fp32_flops_per_second.value);
}

bool HasMemoryPass(const StreamCalibration& passes) {
  for (const MeasuredStream& stream : passes.streams) {
    if (stream.main_memory) return true;
  }
  return false;
}

}  // namespace

absl::optional<StreamPredictor> StreamPredictor::OfAccelerator(const Accelerator& accelerator,
                                                               DataType type) {
  const DatasheetValue& bandwidth = accelerator.memory_bandwidth_bytes_per_second;
  if (!bandwidth) return absl::nullopt;
  const AchievedFraction share = AchievedBandwidthFraction(accelerator);
  const PredictionError untried = StreamFallbacks::kUntried;
  const PredictionError error = {.p10 = untried.p10 * share.expected / share.high,
                                 .p90 = untried.p90 * share.expected / share.low};
  StreamPredictor out(
      StreamModel::OfRates({.memory = BytesPerSecond(bandwidth.value * share.expected),
                            .arithmetic = DatasheetArithmetic(&accelerator),
                            .error = error}),
      {.source = RateSource::kDatasheet,
       .citation = absl::StrCat("datasheet bandwidth x share: ", share.citation),
       .device = accelerator.name,
       .form = PredictionForm::kStreams,
       .error = error});
  out.flops_ratio_ = FlopsRatio(&accelerator, type);
  return out;
}

absl::StatusOr<absl::optional<StreamPredictor>> StreamPredictor::OfMeasured(
    const MeasuredKernels& measured, DataType type) {
  const Accelerator* const accelerator = measured.calibration->accelerator;
  absl::optional<StreamPredictor> out;
  if (!HasMemoryPass(measured.passes)) {
    if (accelerator != nullptr) out = OfAccelerator(*accelerator, type);
    return out;
  }
  StreamCalibration passes = measured.passes;
  if (!passes.arithmetic.has_value()) passes.arithmetic = DatasheetArithmetic(accelerator);
  SEXTANT_ASSIGN_OR_RETURN(StreamModel model, StreamModel::Of(passes));
  KernelSource source = SourceOfMeasured(measured);
  source.form = PredictionForm::kStreams;
  source.error = model.error();
  out = StreamPredictor(std::move(model), std::move(source));
  out->flops_ratio_ = FlopsRatio(accelerator, type);
  return out;
}

void StreamPredictor::Scale(const DeviceScale& scale) {
  if (scale.bytes == 1) return;
  scale_ = scale.bytes;
  scale.Cite(source_);
}

}  // namespace sextant
