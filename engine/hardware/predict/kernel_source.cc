#include "engine/hardware/predict/kernel_source.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/base/text.h"
#include "engine/hardware/kernels/achieved_fraction.h"
#include "engine/hardware/kernels/matmul_model.h"

namespace sextant {
namespace {

// The best short multiplication in `type`: the fastest stable one, else the one that plans use.
// Null: none was measured.
const MeasuredMatmul* SureBurstIn(const DeviceCalibration& calibration, DataType type) {
  for (const MeasuredMatmul& burst : calibration.stable_bursts) {
    if (burst.data_type == type) return &burst;
  }
  return calibration.MatmulIn(type);
}

}  // namespace

KernelSource SourceOfMeasured(const MeasuredKernels& measured) {
  const DeviceCalibration& calibration = *measured.calibration;
  KernelSource out = {
      .source = RateSource::kMeasuredSupplied,
      .citation = absl::StrCat("measured ", UtcText(calibration.measured_unix_seconds), " by ",
                               calibration.probe_version)};
  out.device =
      calibration.accelerator != nullptr ? calibration.accelerator->name : calibration.product_name;
  out.device_uuid = calibration.uuid;
  out.measured_unix_seconds = calibration.measured_unix_seconds;
  return out;
}

KernelTime AsEquivalentType(const KernelTime& time) {
  return Widened(time, 1, MatmulFallbacks::kEquivalentType, KernelBasis::kOtherType);
}

absl::optional<DeviceCeilings> DatasheetCeilings(const Accelerator& accelerator, DataType type) {
  const DatasheetValue peak = PeakFlopsPerSecond(accelerator, type);
  const DatasheetValue& bandwidth = accelerator.memory_bandwidth_bytes_per_second;
  if (!peak || !bandwidth) return absl::nullopt;
  const AchievedFraction matmul = AchievedMatmulFraction(accelerator, type);
  const AchievedFraction copy = AchievedBandwidthFraction(accelerator);
  return DeviceCeilings{.ceilings = {.matrix = FlopsPerSecond(peak.value * matmul.expected),
                                     .memory = BytesPerSecond(bandwidth.value * copy.expected),
                                     .floor = kUnmeasuredFloor,
                                     .basis = KernelBasis::kDatasheet},
                        .source = {.source = RateSource::kDatasheet,
                                   .citation = absl::StrCat("datasheet peaks x shares: ",
                                                            matmul.citation, "; ", copy.citation),
                                   .device = accelerator.name,
                                   .form = PredictionForm::kRoofline}};
}

absl::optional<DeviceCeilings> MeasuredCeilings(const MeasuredKernels& measured, DataType type) {
  const DeviceCalibration& calibration = *measured.calibration;
  const MeasuredMatmul* matmul = SureBurstIn(calibration, type);
  if (matmul == nullptr || !calibration.memory_copy().has_value()) return absl::nullopt;
  DeviceCeilings out = {
      .ceilings = {.matrix = matmul->rate,
                   .memory = BytesPerSecond(calibration.memory_copy()->per_second),
                   .floor = calibration.processor ? Seconds() : kUnmeasuredFloor,
                   .basis = KernelBasis::kMeasuredRate},
      .source = SourceOfMeasured(measured)};
  out.source.form = PredictionForm::kRoofline;
  return out;
}

}  // namespace sextant
