#include "engine/tensor/strided_tensor.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"

namespace sextant {
namespace {

// The storage position of the last element.
CheckedInt LastPosition(const StridedTensor& tensor) {
  CheckedInt last = tensor.offset;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    last = last + CheckedInt(tensor.shape[i] - 1) * tensor.strides[i];
  }
  return last;
}

void CheckStorage(const StridedTensor& tensor, absl::string_view path,
                  FieldViolations& violations) {
  const CheckedInt last = LastPosition(tensor);
  if (!last.ok()) {
    violations.Add(FieldPath(path, "strides"), "reach beyond 9.2e18 elements");
  } else if (last.value() >= tensor.storage_elements) {
    violations.Add(FieldPath(path, "storage_elements"),
                   absl::StrCat("must be more than ", last.value(),
                                ", the last position that shape, strides and offset reach, not ",
                                tensor.storage_elements));
  }
}

}  // namespace

int64_t StridedTensor::element_count() const { return ElementCount(shape).value_or(0); }

StridedTensor ContiguousTensor(Shape shape, DataType data_type) {
  StridedTensor out = {.shape = std::move(shape), .data_type = data_type};
  out.strides = ContiguousStrides(out.shape);
  out.storage_elements = out.element_count();
  return out;
}

void CheckStridedTensor(const StridedTensor& tensor, absl::string_view path,
                        FieldViolations& violations) {
  FieldViolations found;
  CheckShape(tensor.shape, FieldPath(path, "shape"), found);
  if (tensor.strides.size() != tensor.shape.size()) {
    found.Add(FieldPath(path, "strides"), absl::StrCat("must be one an axis, ", tensor.shape.size(),
                                                       ", not ", tensor.strides.size()));
  }
  for (size_t i = 0; i < tensor.strides.size(); ++i) {
    if (tensor.strides[i] >= 0) continue;
    found.Add(absl::StrCat(FieldPath(path, "strides"), "[", i, "]"),
              absl::StrCat("must not be negative, and is ", tensor.strides[i]));
  }
  if (tensor.offset < 0) {
    found.Add(FieldPath(path, "offset_elements"),
              absl::StrCat("must not be negative, and is ", tensor.offset));
  }
  if (found.empty()) CheckStorage(tensor, path, found);
  violations.AddAll(found.ToStatus());
}

int64_t ReachedElements(const StridedTensor& tensor) { return LastPosition(tensor).value() + 1; }

bool IsContiguous(const StridedTensor& tensor) {
  int64_t expected = 1;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] == 1) continue;
    if (tensor.strides[i] != expected) return false;
    expected *= tensor.shape[i];
  }
  return true;
}

absl::StatusOr<int64_t> FlatIndex(const StridedTensor& tensor, absl::Span<const int64_t> index) {
  if (index.size() != tensor.shape.size()) {
    return InvalidField("index", absl::StrCat("must have one entry an axis, ", tensor.shape.size(),
                                              ", not ", index.size()));
  }
  FieldViolations violations;
  int64_t position = tensor.offset;
  for (size_t i = 0; i < index.size(); ++i) {
    const int64_t size = tensor.shape[i];
    if (index[i] < -size || index[i] >= size) {
      violations.Add(absl::StrCat("index[", i, "]"),
                     absl::StrCat("must be ", -size, " to ", size - 1, " on an axis of size ", size,
                                  ", not ", index[i]));
      continue;
    }
    position += (index[i] < 0 ? index[i] + size : index[i]) * tensor.strides[i];
  }
  if (!violations.empty()) return violations.ToStatus();
  return position;
}

}  // namespace sextant
