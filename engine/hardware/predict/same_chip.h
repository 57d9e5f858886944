// Products whose kernel times are published only for another product of the same chip.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_SAME_CHIP_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_SAME_CHIP_H_

#include "engine/hardware/accelerator.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// Ratios of times on a product to those on another one of its chip.
struct SameChip {
  const Accelerator* published = nullptr;  // null: no other product of the chip
  double work_ratio = 1;                   // of arithmetic: the other's peak over its own
  double byte_ratio = 1;                   // of moving bytes: the other's bandwidth over its own

  explicit operator bool() const { return published != nullptr; }
  // `time` on the other product, `work_share` of which is arithmetic, as on this one.
  KernelTime Scaled(KernelTime time, double work_share) const;
};

// The product of `accelerator`'s chip whose kernels are published, and ratios in `type`.
SameChip SameChipOf(const Accelerator& accelerator, DataType type);

// Clocks under another power limit and cooling differ by a few percent beyond what the peaks say.
// Assumed: published products of one chip, the H100 and H200, differ by 0.95 to 1.05.
inline constexpr Widening kSameChip{.low = 0.93, .high = 1.08};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_SAME_CHIP_H_
