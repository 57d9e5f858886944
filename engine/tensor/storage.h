// What tensors take in memory.
#ifndef SEXTANT_ENGINE_TENSOR_STORAGE_H_
#define SEXTANT_ENGINE_TENSOR_STORAGE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/tensor/data_type.h"

namespace sextant {

// Bytes of a dense tensor of `shape` in `type`; a shape without axes is one element.
//
//   bytes = rows * ceil(ceil(columns / block) * (block * element bits + scale bits) / 8)
//
// with columns the last axis, rows the product of the others, and a block of 1 without scale
// where the format has none. So each row begins on a byte: int4 and fp4 lie two a byte, fp6
// four in three. A block format's blocks lie along the last axis, the last of a row padded in
// full: 33 bytes for 32 elements of mxfp8, 17 for mxfp4, 9 for 16 of nvfp4 (OCP MX v1.0
// section 5; NVIDIA's cuTile tutorial on NVFP4). tf32 takes fp32's bytes. Not included: nvfp4's
// fp32 scale of the tensor, and whatever scales int8, int4, fp8, fp6 and fp4 are used with.
//
// Errors: kInvalidArgument, naming
//   "data_type"  unspecified
//   "shape"      more axes than kMaxAxes; more bytes than an int64 holds
//   "shape[i]"   a size outside 1 to kMaxDimension
absl::StatusOr<Bytes> TensorBytes(DataType type, absl::Span<const int64_t> shape);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_STORAGE_H_
