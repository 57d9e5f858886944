#include "engine/tensor/token_ids.h"

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"

namespace sextant {
namespace {

constexpr int64_t kUint16Ids = int64_t{1} << 16;
constexpr int64_t kUint32Ids = int64_t{1} << 32;

}  // namespace

absl::StatusOr<int64_t> TokenIdBytes(int64_t vocabulary_size) {
  if (vocabulary_size < 1 || vocabulary_size > kUint32Ids) {
    return InvalidField("vocabulary_size",
                        absl::StrCat("must be 1 to ", kUint32Ids, ", not ", vocabulary_size));
  }
  return vocabulary_size <= kUint16Ids ? 2 : 4;
}

absl::StatusOr<Bytes> TokenBytes(int64_t token_count, int64_t bytes_per_id) {
  if (bytes_per_id != 1 && bytes_per_id != 2 && bytes_per_id != 4 && bytes_per_id != 8) {
    return InvalidField("bytes_per_id", absl::StrCat("must be 1, 2, 4 or 8, not ", bytes_per_id));
  }
  if (token_count < 0) {
    return InvalidField("token_count", absl::StrCat("must be at least 0, not ", token_count));
  }
  const CheckedInt bytes = CheckedInt(token_count) * bytes_per_id;
  if (!bytes.ok()) return InvalidField("token_count", "takes more than 9.2e18 bytes");
  return Bytes(bytes.value());
}

}  // namespace sextant
