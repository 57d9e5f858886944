// Scales kernel times from one device to another: from a measured one to an unmeasured one of the
// same product, and from a product with published times to another one of its chip.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_DEVICE_SCALE_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_DEVICE_SCALE_H_

#include <string>

#include "absl/strings/str_format.h"
#include "engine/hardware/accelerator.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/predict/kernel_source.h"
#include "engine/tensor/data_type.h"

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

// Clocks under another power limit and cooling differ by a few percent beyond what the peaks say.
// Assumed: published products of one chip, the H100 and H200, differ by 0.95 to 1.05.
inline constexpr Widening kSameChip{.low = 0.93, .high = 1.08};

// Ratios of times on a product to those on another one of its chip.
struct SameChip {
  const Accelerator* published = nullptr;  // null: no other product of the chip
  double work_ratio = 1;                   // of arithmetic: the other's peak over its own
  double byte_ratio = 1;                   // of moving bytes: the other's bandwidth over its own
  Widening doubt = kSameChip;

  explicit operator bool() const { return published != nullptr; }
  // `time` on the other product, `work_share` of which is arithmetic, as on this one.
  KernelTime Scaled(KernelTime time, double work_share) const;
};

// The product of `accelerator`'s chip whose kernels are published, and ratios in `type`.
SameChip SameChipOf(const Accelerator& accelerator, DataType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_DEVICE_SCALE_H_
