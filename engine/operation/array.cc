#include "engine/operation/array.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/storage.h"

namespace sextant {
namespace {

absl::Status TooLarge(const Array& array) {
  return InvalidField("shape", absl::StrCat(TextOf(array), " has more than 9.2e18 elements or ",
                                            "bytes: write smaller sizes"));
}

}  // namespace

absl::StatusOr<int64_t> ElementsOf(const Array& array) {
  CheckedInt elements = 1;
  for (const int64_t size : array.shape) elements = elements * size;
  if (!elements.ok()) return TooLarge(array);
  return elements.value();
}

absl::StatusOr<Bytes> BytesOf(const Array& array) {
  SEXTANT_ASSIGN_OR_RETURN(const int64_t elements, ElementsOf(array));
  if (array.index_bytes == 0) {
    const absl::StatusOr<Bytes> bytes = TensorBytes(array.data_type, array.shape);
    return bytes.ok() ? bytes : TooLarge(array);
  }
  const CheckedInt bytes = CheckedInt(elements) * array.index_bytes;
  if (!bytes.ok()) return TooLarge(array);
  return Bytes(bytes.value());
}

std::string TextOf(const Array& array) {
  const std::string element = array.index_bytes > 0 ? absl::StrCat(array.index_bytes, "-byte")
                                                    : std::string(DataTypeName(array.data_type));
  return absl::StrCat(array.name, " [", absl::StrJoin(array.shape, ", "), "] ", element);
}

}  // namespace sextant
