#include "engine/tensor/data_type.h"

namespace sextant {

absl::string_view DataTypeName(DataType type) {
  switch (type) {
    case DataType::kUnspecified:
      return "unspecified";
    case DataType::kFp64:
      return "fp64";
    case DataType::kFp32:
      return "fp32";
    case DataType::kTf32:
      return "tf32";
    case DataType::kFp16:
      return "fp16";
    case DataType::kBf16:
      return "bf16";
    case DataType::kFp8:
      return "fp8";
    case DataType::kInt8:
      return "int8";
    case DataType::kFp6:
      return "fp6";
    case DataType::kFp4:
      return "fp4";
    case DataType::kFp8E4m3:
      return "fp8_e4m3";
    case DataType::kFp8E5m2:
      return "fp8_e5m2";
    case DataType::kMxfp8:
      return "mxfp8";
    case DataType::kMxfp4:
      return "mxfp4";
    case DataType::kNvfp4:
      return "nvfp4";
    case DataType::kInt4:
      return "int4";
  }
  return "unspecified";
}

bool IsStorageType(DataType type) { return StorageBytes(type) > 0; }

// Widths by definition: IEEE 754-2019 for fp64, fp32 and fp16; bfloat16 is fp32's upper
// half; the 8-bit floats are those of arXiv 2209.05433.
int64_t StorageBytes(DataType type) {
  switch (type) {
    case DataType::kFp64:
      return 8;
    case DataType::kFp32:
      return 4;
    case DataType::kFp16:
    case DataType::kBf16:
      return 2;
    case DataType::kFp8:
    case DataType::kFp8E4m3:
    case DataType::kFp8E5m2:
      return 1;
    default:
      return 0;
  }
}

bool IsOfMatricesAlone(DataType type) { return StorageBytes(type) < 2 && type != DataType::kTf32; }

}  // namespace sextant
