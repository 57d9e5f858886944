// What token ids take in files and in memory.
#ifndef SEXTANT_ENGINE_TENSOR_TOKEN_IDS_H_
#define SEXTANT_ENGINE_TENSOR_TOKEN_IDS_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "engine/base/units.h"

namespace sextant {

// Bytes of one token id in a token file: 2 (uint16) where every id of the vocabulary fits, the
// vocabulary having at most 2^16 tokens, else 4 (uint32). Token files use no narrower type.
// Source: derivation: ids run from 0 to vocabulary_size - 1. Megatron-LM's files take 4 bytes
// from 65,500 tokens on already.
//
// Errors: kInvalidArgument "vocabulary_size" outside 1 to 2^32.
absl::StatusOr<int64_t> TokenIdBytes(int64_t vocabulary_size);

// Bytes of `token_count` ids of `bytes_per_id` each.
//
// Errors: kInvalidArgument "token_count" below 0, or too many bytes for an int64;
// "bytes_per_id" other than 1, 2, 4 or 8.
absl::StatusOr<Bytes> TokenBytes(int64_t token_count, int64_t bytes_per_id);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_TOKEN_IDS_H_
