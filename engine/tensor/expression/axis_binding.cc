#include "engine/tensor/expression/axis_binding.h"

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "engine/base/checked_math.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

// The size that `axis` is known to have before the tensor is looked at.
absl::optional<int64_t> KnownSize(const TermAxis& axis, const GivenSizes& given) {
  if (axis.kind == AxisKind::kNumber) return axis.number;
  const auto found = given.find(axis.text);
  if (found == given.end()) return absl::nullopt;
  return found->second;
}

// The sizes of the axes of `group`, an axis of `size`.
absl::StatusOr<Shape> SizesOf(const AxisGroup& group, int64_t size, const GivenSizes& given) {
  Shape sizes;
  CheckedInt known = 1;
  absl::optional<size_t> open;
  for (size_t i = 0; i < group.axes.size(); ++i) {
    const absl::optional<int64_t> one = KnownSize(group.axes[i], given);
    sizes.push_back(one.value_or(1));
    known = known * sizes.back();
    if (one.has_value()) continue;
    if (open.has_value()) {
      return ExpressionError(
          group.axes[i].column,
          absl::StrCat("the sizes of '", group.axes[*open].text, "' and '", group.axes[i].text,
                       "' are both missing: give one, as ", group.axes[i].text, "=8"));
    }
    open = i;
  }
  const bool fits =
      known.ok() && (open.has_value() ? size % known.value() == 0 : size == known.value());
  if (!fits) {
    return ExpressionError(
        group.column, absl::StrCat("the axis has size ", size, ", which is not ",
                                   open.has_value() ? "divisible by " : "", "the product of the ",
                                   open.has_value() ? "other sizes" : "given sizes",
                                   known.ok() ? absl::StrCat(", ", known.value()) : ""));
  }
  if (open.has_value()) sizes[*open] = size / known.value();
  return sizes;
}

absl::Status BindGroup(const AxisGroup& group, int64_t size, int64_t stride,
                       const GivenSizes& given, std::vector<BoundAxis>& out) {
  SEXTANT_ASSIGN_OR_RETURN(const Shape sizes, SizesOf(group, size, given));
  const size_t first = out.size();
  out.resize(first + sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    out[first + i] = {.axis = group.axes[i], .size = sizes[i], .stride = stride};
    stride = StrideBefore(sizes[i], stride);
  }
  return absl::OkStatus();
}

bool IsEllipsis(const AxisGroup& group) {
  return !group.axes.empty() && group.axes[0].kind == AxisKind::kEllipsis;
}

}  // namespace

absl::StatusOr<GivenSizes> GivenSizesOf(absl::Span<const AxisSize> sizes) {
  if (sizes.size() > kMaxGivenSizes) {
    return InvalidField("sizes",
                        absl::StrCat("must be at most ", kMaxGivenSizes, ", not ", sizes.size()));
  }
  GivenSizes given;
  FieldViolations violations;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const std::string path = absl::StrCat("sizes[", i, "]");
    violations.RequireRange(path, "size", sizes[i].size, 1, kMaxDimension);
    if (!given.emplace(sizes[i].name, sizes[i].size).second) {
      violations.Add(FieldPath(path, "name"), "is given twice");
    }
  }
  if (!violations.empty()) return violations.ToStatus();
  return given;
}

absl::StatusOr<std::vector<BoundAxis>> BindAxes(const AxisTerm& term, const StridedTensor& tensor,
                                                const GivenSizes& given) {
  const size_t named = term.groups.size() - (term.has_ellipsis ? 1 : 0);
  const size_t has = tensor.shape.size();
  if (term.has_ellipsis ? has < named : has != named) {
    return InvalidField(
        "tensor", absl::StrCat("the expression has ", term.has_ellipsis ? "at least " : "", named,
                               " axes, the tensor has ", has));
  }
  std::vector<BoundAxis> out;
  size_t at = 0;
  for (const AxisGroup& group : term.groups) {
    if (!IsEllipsis(group)) {
      SEXTANT_RETURN_IF_ERROR(BindGroup(group, tensor.shape[at], tensor.strides[at], given, out));
      ++at;
      continue;
    }
    for (size_t end = at + has - named; at < end; ++at) {
      out.push_back(
          {.axis = group.axes[0], .size = tensor.shape[at], .stride = tensor.strides[at]});
    }
  }
  return out;
}

}  // namespace sextant
