// The size of tensors and token ids in memory and in files.
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
// where columns is the last axis, rows the product of the others, and block is 1, without a scale,
// where the format has no blocks. So each row begins on a byte: int4 and fp4 have two elements per
// byte, fp6 four in three bytes. A block format's blocks are along the last axis, and a row's last
// block is padded in full: 33 bytes for 32 elements of mxfp8, 17 for mxfp4, 9 for 16 of nvfp4 (OCP
// MX v1.0 section 5; NVIDIA's cuTile tutorial on NVFP4). tf32 takes fp32's bytes. Not included:
// nvfp4's fp32 scale of the tensor, and any scales used with int8, int4, fp8, fp6 and fp4.
//
// Errors: kInvalidArgument, naming
//   "data_type"  unspecified
//   "shape"      more axes than kMaxAxes; more bytes than an int64 holds
//   "shape[i]"   a size outside 1 to kMaxDimension
absl::StatusOr<Bytes> TensorBytes(DataType type, absl::Span<const int64_t> shape);

// Bytes of one token id in a token file: 2 (uint16) where the vocabulary has at most 2^16 tokens,
// else 4 (uint32). Token files use no narrower type. Source: derivation: ids run from 0 to
// vocabulary_size - 1. Megatron-LM's files use 4 bytes from 65,500 tokens on.
//
// Errors: kInvalidArgument "vocabulary_size" outside 1 to 2^32.
absl::StatusOr<int64_t> TokenIdBytes(int64_t vocabulary_size);

// Bytes of `token_count` ids of `bytes_per_id` each.
//
// Errors: kInvalidArgument "token_count" below 0, or too many bytes for an int64;
// "bytes_per_id" other than 1, 2, 4 or 8.
absl::StatusOr<Bytes> TokenBytes(int64_t token_count, int64_t bytes_per_id);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_STORAGE_H_
