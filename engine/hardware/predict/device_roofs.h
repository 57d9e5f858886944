// The rates that a device's kernels reach, where no shape of their kind was measured.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_DEVICE_ROOFS_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_DEVICE_ROOFS_H_

#include "absl/types/optional.h"
#include "engine/hardware/kernels/roof_time.h"
#include "engine/hardware/predict/kernel_source.h"

namespace sextant {

// Roofs, and what they stand on but for its error.
struct DeviceRoofs {
  KernelRoofs roofs;
  KernelSource source;
};

// The datasheet's peak in `type` and its bandwidth, times the shares that somebody published.
// Absent where it has none of either.
absl::optional<DeviceRoofs> DatasheetRoofs(const Accelerator& accelerator, DataType type);

// The best multiplication and copy that a probe measured. Absent where it measured none in `type`,
// or no copy.
absl::optional<DeviceRoofs> MeasuredRoofs(const MeasuredKernels& measured, DataType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_DEVICE_ROOFS_H_
