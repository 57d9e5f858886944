#include "engine/operation/array.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

// Bytes of an element in memory; 0 for what has no layout of its own. TF32 is fp32 data.
int64_t ElementBytes(DataType type) {
  if (type == DataType::kTf32) return StorageBytes(DataType::kFp32);
  if (type == DataType::kInt8) return 1;
  return StorageBytes(type);
}

absl::Status TooLarge(const Array& array) {
  return InvalidField("shape", absl::StrCat(TextOf(array), " has more than 9.2e18 elements or ",
                                            "bytes: write smaller sizes"));
}

}  // namespace

bool CanHoldArray(DataType type) { return ElementBytes(type) > 0; }

absl::StatusOr<int64_t> ElementsOf(const Array& array) {
  CheckedInt elements = 1;
  for (const int64_t size : array.shape) elements = elements * size;
  if (!elements.ok()) return TooLarge(array);
  return elements.value();
}

absl::StatusOr<Bytes> BytesOf(const Array& array) {
  SEXTANT_ASSIGN_OR_RETURN(const int64_t elements, ElementsOf(array));
  const int64_t each = array.index_bytes > 0 ? array.index_bytes : ElementBytes(array.data_type);
  const CheckedInt bytes = CheckedInt(elements) * each;
  if (!bytes.ok()) return TooLarge(array);
  return Bytes(bytes.value());
}

std::string TextOf(const Array& array) {
  const std::string element = array.index_bytes > 0 ? absl::StrCat(array.index_bytes, "-byte")
                                                    : std::string(DataTypeName(array.data_type));
  return absl::StrCat(array.name, " [", absl::StrJoin(array.shape, ", "), "] ", element);
}

}  // namespace sextant
