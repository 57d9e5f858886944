#include "engine/tensor/shape.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/base/checked_math.h"

namespace sextant {

std::string ShapeText(absl::Span<const int64_t> shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

absl::optional<int64_t> ElementCount(absl::Span<const int64_t> shape) {
  CheckedInt count = 1;
  for (const int64_t size : shape) count = count * size;
  if (!count.ok()) return absl::nullopt;
  return count.value();
}

void CheckShape(absl::Span<const int64_t> shape, absl::string_view path,
                FieldViolations& violations) {
  if (shape.size() > kMaxAxes) {
    violations.Add(path, absl::StrCat("has ", shape.size(), " axes: at most ", kMaxAxes));
    return;
  }
  bool sizes_are_fine = true;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] >= 1 && shape[i] <= kMaxDimension) continue;
    sizes_are_fine = false;
    violations.Add(
        absl::StrCat(path, "[", i, "]"),
        shape[i] < 1 ? absl::StrCat("must be at least 1, not ", shape[i])
                     : absl::StrCat("must be at most ", kMaxDimension, " (2^40), not ", shape[i]));
  }
  if (sizes_are_fine && !ElementCount(shape).has_value()) {
    violations.Add(path, absl::StrCat(ShapeText(shape), " has more than 9.2e18 elements"));
  }
}

Strides ContiguousStrides(absl::Span<const int64_t> shape) {
  Strides strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

int64_t StrideBefore(int64_t size, int64_t stride) {
  const CheckedInt product = CheckedInt(size) * stride;
  return product.ok() ? product.value() : stride;
}

absl::StatusOr<Shape> BroadcastShapes(absl::Span<const int64_t> a, absl::Span<const int64_t> b,
                                      absl::string_view field) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (size_t from_end = 1; from_end <= out.size(); ++from_end) {
    const int64_t size_a = from_end <= a.size() ? a[a.size() - from_end] : 1;
    const int64_t size_b = from_end <= b.size() ? b[b.size() - from_end] : 1;
    if (size_a != size_b && size_a != 1 && size_b != 1) {
      return InvalidField(
          field, absl::StrCat(ShapeText(b), " does not broadcast with ", ShapeText(a), ": sizes ",
                              size_a, " and ", size_b, " differ, and neither is 1"));
    }
    out[out.size() - from_end] = std::max(size_a, size_b);
  }
  return out;
}

}  // namespace sextant
