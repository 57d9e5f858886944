// Data types whose kernels' times stand for one another's.
#ifndef SEXTANT_ENGINE_HARDWARE_PREDICT_LIKE_TYPE_H_
#define SEXTANT_ENGINE_HARDWARE_PREDICT_LIKE_TYPE_H_

#include <algorithm>

#include "engine/hardware/kernels/gemm_model.h"
#include "engine/hardware/kernels/kernel_time.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// The type that tables and probes name: fp8's formats are multiplied alike.
constexpr DataType MeasuredNameOf(DataType type) {
  return type == DataType::kFp8 || type == DataType::kFp8E5m2 ? DataType::kFp8E4m3 : type;
}

// As wide, and of the same peak on every product that has both: bf16 and fp16 for each other.
// kUnspecified: none is.
constexpr DataType LikeType(DataType type) {
  if (type == DataType::kBf16) return DataType::kFp16;
  return type == DataType::kFp16 ? DataType::kBf16 : DataType::kUnspecified;
}

// `time` of a type that was measured, for one that is like it.
inline KernelTime AsLikeType(const KernelTime& time) {
  return {.expected = time.expected,
          .low = time.low * GemmFallbacks::kLikeType.low,
          .high = time.high * GemmFallbacks::kLikeType.high,
          .basis = std::max(time.basis, KernelBasis::kOtherType)};
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_PREDICT_LIKE_TYPE_H_
