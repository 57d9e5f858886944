#include "engine/hardware/predict/kernel_source.h"

#include "absl/strings/str_cat.h"
#include "engine/base/utc_text.h"

namespace sextant {

KernelSource SourceOfMeasured(const MeasuredKernels& measured) {
  const DeviceCalibration& calibration = *measured.calibration;
  KernelSource out = {
      .source = measured.source,
      .citation = absl::StrCat("measured ", UtcText(calibration.measured_unix_seconds), " by ",
                               calibration.probe_version)};
  out.device =
      calibration.accelerator != nullptr ? calibration.accelerator->name : calibration.product_name;
  out.device_uuid = calibration.uuid;
  out.measured_unix_seconds = calibration.measured_unix_seconds;
  return out;
}

}  // namespace sextant
