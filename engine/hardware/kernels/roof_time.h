// A kernel's time by a device's two roofs: where no shape of its kind was measured.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_ROOF_TIME_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_ROOF_TIME_H_

#include <cstdint>

#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/tensor/data_type.h"

namespace sextant {

struct KernelWork {
  Flops flops;
  double moved_bytes = 0;  // read plus written, each array once
};

// Rates that kernels reach, not that datasheets promise.
struct KernelRoofs {
  FlopsPerSecond matrix;
  BytesPerSecond memory;
  Seconds floor = {};  // of the shortest kernel
  // kMeasuredRate or kDatasheet.
  KernelBasis basis = KernelBasis::kDatasheet;
};

// The shortest kernel that no one measured: what published matrix products of 1 x 1024 x 1024 take
// behind other work, 2.5 to 6 us (docs/kernels.md).
inline constexpr Seconds kUnmeasuredFloor = Seconds(3e-6);

// Of 8 bits or fewer: what multiplies it quantises its inputs first.
bool IsNarrow(DataType type);

// How measured matrix products compare with these roofs: quantiles of measured over
// (c^2 + m^2)^(1/2) + floor, by what the roofs stand on and by how wide the operands are. Narrow
// ones are quantised by the kernel's call, which the roofs don't see: they take longer. From the
// published tables of four GPUs (docs/kernels.md).
PredictionError ErrorUnderRoofs(KernelBasis basis, DataType type);

// (c^2 + m^2)^(1/2) + floor, times the median of `error`, which says how the kernel compares with
// that: ErrorUnderRoofs() of a matrix product. `roofs` are above 0. Source: docs/roofline.md for
// the p-norm, docs/kernels.md for the factor.
KernelTime TimeUnderRoofs(const KernelWork& work, const KernelRoofs& roofs,
                          const PredictionError& error);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_ROOF_TIME_H_
