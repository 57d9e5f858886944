#include "engine/hardware/kernels/ceiling_time.h"

#include <cmath>

namespace sextant {

bool IsNarrow(DataType type) {
  switch (type) {
    case DataType::kFp64:
    case DataType::kFp32:
    case DataType::kTf32:
    case DataType::kFp16:
    case DataType::kBf16:
      return false;
    default:
      return true;
  }
}

PredictionError ErrorUnderCeilings(KernelBasis basis, DataType type) {
  const bool wide = !IsNarrow(type);
  if (basis == KernelBasis::kMeasuredRate) {
    return wide ? PredictionError{.p10 = 0.99, .median = 1.10, .p90 = 1.32}
                : PredictionError{.p10 = 1.02, .median = 1.20, .p90 = 1.52};
  }
  return wide ? PredictionError{.p10 = 0.96, .median = 1.09, .p90 = 1.38}
              : PredictionError{.p10 = 1.23, .median = 1.86, .p90 = 3.37};
}

KernelTime TimeUnderCeilings(const KernelWork& work, const KernelCeilings& ceilings,
                             const PredictionError& error) {
  const double compute = (work.flops / ceilings.matrix).value();
  const double memory = work.moved_bytes / ceilings.memory.value();
  const Seconds time(std::hypot(compute, memory) + ceilings.floor.value());
  return {.expected = time * error.median,
          .low = time * error.p10,
          .high = time * error.p90,
          .basis = ceilings.basis};
}

}  // namespace sextant
