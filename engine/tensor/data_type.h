// Number formats as training accounts use them: names and storage. number_format.h has their
// layouts and ranges.
#ifndef SEXTANT_ENGINE_TENSOR_DATA_TYPE_H_
#define SEXTANT_ENGINE_TENSOR_DATA_TYPE_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"

namespace sextant {

// As sextant.v1.DataType; kUnspecified means not given.
enum class DataType {
  kUnspecified,
  kFp64,
  kFp32,
  kTf32,
  kFp16,
  kBf16,
  kFp8,  // as in datasheets: e4m3 or e5m2
  kInt8,
  kFp6,  // as in datasheets: e2m3 or e3m2
  kFp4,  // as in datasheets: e2m1, without its scales
  kFp8E4m3,
  kFp8E5m2,
  kMxfp8,
  kMxfp4,
  kNvfp4,
  kInt4,
};
inline constexpr size_t kDataTypeCount = static_cast<size_t>(DataType::kInt4) + 1;

// "bf16", "fp8_e4m3"; "unspecified" for kUnspecified.
absl::string_view DataTypeName(DataType type);

// True where weights, gradients or optimizer state can be stored in `type`: the byte-sized
// floating-point formats. TF32 is a mode of the matrix units over fp32 data; integers, block
// formats and those below a byte need scales, which this accounting has no term for.
bool IsStorageType(DataType type);

// Bytes per element of a storage type; 0 for others. For any type: storage.h.
int64_t StorageBytes(DataType type);

// True below 16 bits: norms and attention of a run that multiplies matrices in `type` are computed
// in bf16.
bool IsOfMatricesAlone(DataType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_DATA_TYPE_H_
