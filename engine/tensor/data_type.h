// Number formats, as far as training accounts need them: their names and their storage. What
// they hold is in number_format.h.
#ifndef SEXTANT_ENGINE_TENSOR_DATA_TYPE_H_
#define SEXTANT_ENGINE_TENSOR_DATA_TYPE_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace sextant {

// As sextant.v1.DataType; kUnspecified is "not given".
enum class DataType {
  kUnspecified,
  kFp64,
  kFp32,
  kTf32,
  kFp16,
  kBf16,
  kFp8,  // as datasheets say it: e4m3 or e5m2
  kInt8,
  kFp6,  // as datasheets say it: e2m3 or e3m2
  kFp4,  // as datasheets say it: e2m1, its scales apart
  kFp8E4m3,
  kFp8E5m2,
  kMxfp8,
  kMxfp4,
  kNvfp4,
  kInt4,
};

// "bf16", "fp8_e4m3"; "unspecified" for kUnspecified.
absl::string_view DataTypeName(DataType type);

// Whether weights, gradients or optimizer state can be kept in `type`: the byte-sized
// floating-point formats. TF32 is a mode of the matrix units over fp32 data; integers, block
// formats and those below a byte need scales that this accounting has no term for.
bool IsStorageType(DataType type);

// Bytes of one element of a storage type; 0 for the others. Any type's: storage.h.
int64_t StorageBytes(DataType type);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_DATA_TYPE_H_
