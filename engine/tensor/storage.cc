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

// At most 2^40 elements of at most 64 bits and a scale: far from overflow.
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

}  // namespace

absl::StatusOr<Bytes> TensorBytes(DataType type, absl::Span<const int64_t> shape) {
  SEXTANT_ASSIGN_OR_RETURN(const NumberFormat* const format, FindNumberFormat(type));
  SEXTANT_RETURN_IF_ERROR(CheckShape(shape));
  CheckedInt bytes = RowBytes(*format, shape.empty() ? 1 : shape.back());
  for (size_t i = 0; i + 1 < shape.size(); ++i) bytes = bytes * shape[i];
  if (!bytes.ok()) return InvalidField("shape", "takes more than 9.2e18 bytes: make it smaller");
  return Bytes(bytes.value());
}

}  // namespace sextant
