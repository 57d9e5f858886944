// Scales a measured device's kernel times to an unmeasured one of the same product.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_DEVICE_SCALE_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_DEVICE_SCALE_H_

#include <string>

#include "absl/strings/str_format.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/predict/kernel_source.h"

namespace sextant {

// Ratios of times on the device to those on the other.
struct DeviceScale {
  double work = 1;   // of arithmetic in matrix units
  double bytes = 1;  // of moving bytes

  bool is_one() const { return work == 1 && bytes == 1; }

  // `time` on the other device, `work_share` of which is arithmetic, as on this one. Exact for
  // kernels that are bound by arithmetic alone or by bytes alone; between them the share decides,
  // as the derivative of the roofline does (docs/fleet.md, "From rates to kernels").
  KernelTime Scaled(const KernelTime& time, double work_share) const {
    return time * (bytes + (work - bytes) * work_share);
  }

  // Adds to `source` that its times are scaled.
  void Cite(KernelSource& source) const {
    source.citation += absl::StrFormat(
        "; scaled to this device's own rates: arithmetic takes %.3f times as long, moving bytes "
        "%.3f times",
        work, bytes);
  }
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_DEVICE_SCALE_H_
