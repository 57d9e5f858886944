#include "engine/tensor/storage.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/number_format.h"
#include "engine/tensor/shape.h"

namespace sextant {
namespace {

// At most 2^40 elements of at most 64 bits and a scale: no overflow.
int64_t RowBytes(const NumberFormat& format, int64_t columns) {
  const BlockScale scale = format.block.value_or(BlockScale{.block_size = 1});
  const int64_t block_bits = scale.block_size * format.stored_bits + scale.scale_bits;
  return CeilDivide(CeilDivide(columns, scale.block_size) * block_bits, 8);
}

absl::Status CheckShape(absl::Span<const int64_t> shape) {
  if (shape.size() > size_t{kMaxAxes}) {
    return InvalidField("shape",
                        absl::StrCat("has ", shape.size(), " axes: write at most ", kMaxAxes));
  }
  FieldViolations violations;
  for (size_t i = 0; i < shape.size(); ++i) {
    const std::string axis = absl::StrCat("shape[", i, "]");
    if (shape[i] < 1) violations.Add(axis, absl::StrCat("must be at least 1, not ", shape[i]));
    if (shape[i] > kMaxDimension) {
      violations.Add(axis,
                     absl::StrCat("must be at most ", kMaxDimension, " (2^40), not ", shape[i]));
    }
  }
  return violations.ToStatus();
}

constexpr int64_t kUint16Ids = int64_t{1} << 16;
constexpr int64_t kUint32Ids = int64_t{1} << 32;

}  // namespace

absl::StatusOr<Bytes> TensorBytes(DataType type, absl::Span<const int64_t> shape) {
  SEXTANT_ASSIGN_OR_RETURN(const NumberFormat* const format, FindNumberFormat(type));
  SEXTANT_RETURN_IF_ERROR(CheckShape(shape));
  CheckedInt bytes = RowBytes(*format, shape.empty() ? 1 : shape.back());
  for (size_t i = 0; i + 1 < shape.size(); ++i) bytes = bytes * shape[i];
  if (!bytes.ok()) return InvalidField("shape", "takes more than 9.2e18 bytes: make it smaller");
  return Bytes(bytes.value());
}

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
