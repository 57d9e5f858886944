// A kernel's time by a device's two ceilings, where no shape of its kind was measured.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_CEILING_TIME_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_CEILING_TIME_H_

#include <cstdint>

#include "engine/base/units.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/tensor/data_type.h"

namespace sextant {

struct KernelWork {
  Flops flops;
  double moved_bytes = 0;  // read plus written, each array once
};

// Rates that kernels achieve, not datasheet peaks.
struct KernelCeilings {
  FlopsPerSecond matrix;
  BytesPerSecond memory;
  Seconds floor = {};  // the shortest kernel time
  // kMeasuredRate or kDatasheet.
  KernelBasis basis = KernelBasis::kDatasheet;
};

// The shortest time of an unmeasured kernel: published matrix products of 1 x 1024 x 1024 queued
// after other work take 2.5 to 6 us (docs/kernels.md, "By two ceilings").
inline constexpr Seconds kUnmeasuredFloor = Seconds(3e-6);

// True for types of 8 bits or fewer, whose products quantise their inputs first.
bool IsNarrow(DataType type);

// The error of measured matrix products against these ceilings: quantiles of measured over (c^2 +
// m^2)^(1/2) + floor, by the basis of the ceilings and the width of the operands. Narrow ones take
// longer, because the kernel's call quantises them, which the ceilings ignore. From the published
// tables of four GPUs (docs/kernels.md, "By two ceilings").
PredictionError ErrorUnderCeilings(KernelBasis basis, DataType type);

// (c^2 + m^2)^(1/2) + floor, times the median of `error`, the kernel's error against that formula:
// ErrorUnderCeilings() for a matrix product. `ceilings` are above 0. Source: docs/kernels.md,
// "Roofline" for the p-norm, "By two ceilings" for the factor.
KernelTime TimeUnderCeilings(const KernelWork& work, const KernelCeilings& ceilings,
                             const PredictionError& error);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_CEILING_TIME_H_
