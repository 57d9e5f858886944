#include "engine/tensor/expression/axis_transform.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "engine/base/checked_math.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/expression/axis_term.h"
#include "engine/tensor/strided_tensor.h"

namespace sextant {
namespace {

// The sizes given by a caller, by axis; names point into them.
using GivenSizes = absl::flat_hash_map<absl::string_view, int64_t>;
constexpr size_t kMaxGivenSizes = 256;

// A single axis of the tensor, after splitting composite axes.
struct BoundAxis {
  TermAxis axis = {};  // one kEllipsis per axis that "..." covers
  int64_t size = 1;
  int64_t stride = 0;
};

// The size of `axis` if it is known without the tensor.
absl::optional<int64_t> KnownSize(const TermAxis& axis, const GivenSizes& given) {
  if (axis.kind == AxisKind::kNumber) return axis.number;
  const auto found = given.find(axis.text);
  if (found == given.end()) return absl::nullopt;
  return found->second;
}

// The sizes of the axes of `group`, which has `size` in total.
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

// Errors: kInvalidArgument "sizes" above kMaxGivenSizes, "sizes[1]" where a name is duplicate or a
// size is out of range.
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

// The axes of `term`, which describes `tensor`, with composite ones split. In a composite axis of
// size n, one size may be missing: it is n / (product of the others).
//
// Errors: kInvalidArgument "tensor" where it has another number of axes; "expression" with the
// column where a size is unknown, does not divide its axis, or differs from it.
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

// Both sides of "b (h d) -> b h d" over a tensor: the axes of the result. Strings point into the
// expression.
struct AxisSides {
  std::vector<BoundAxis> left = {};     // single axes, in the tensor's order
  std::vector<BoundAxis> right = {};    // in the result's order; new ones have stride 0
  std::vector<BoundAxis> reduced = {};  // of the left, those missing on the right
  Shape shape = {};                     // of the result
};

class RightSide {
 public:
  RightSide(const std::vector<BoundAxis>& left, const GivenSizes& given)
      : left_(left), given_(given) {
    for (const BoundAxis& bound : left) {
      if (bound.axis.kind == AxisKind::kName) by_name_.emplace(bound.axis.text, bound);
    }
  }

  absl::Status Bind(const AxisTerm& term, AxisSides& sides) {
    for (const AxisGroup& group : term.groups) {
      const size_t first = sides.right.size();
      for (const TermAxis& axis : group.axes) SEXTANT_RETURN_IF_ERROR(Add(axis, sides.right));
      const bool is_ellipsis = !group.axes.empty() && group.axes[0].kind == AxisKind::kEllipsis;
      if (is_ellipsis && !group.is_composite) {
        for (size_t i = first; i < sides.right.size(); ++i) {
          sides.shape.push_back(sides.right[i].size);
        }
        continue;
      }
      CheckedInt size = 1;
      for (size_t i = first; i < sides.right.size(); ++i) size = size * sides.right[i].size;
      if (!size.ok() || size.value() > kMaxDimension) {
        return ExpressionError(group.column, absl::StrCat("the axis would have more than ",
                                                          kMaxDimension, " (2^40) elements"));
      }
      sides.shape.push_back(size.value());
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Add(const TermAxis& axis, std::vector<BoundAxis>& out) const {
    if (axis.kind == AxisKind::kEllipsis) {
      for (const BoundAxis& bound : left_) {
        if (bound.axis.kind == AxisKind::kEllipsis) out.push_back(bound);
      }
      return absl::OkStatus();
    }
    if (axis.kind == AxisKind::kNumber) {
      out.push_back({.axis = axis, .size = axis.number});
      return absl::OkStatus();
    }
    if (const auto found = by_name_.find(axis.text); found != by_name_.end()) {
      out.push_back(found->second);
      return absl::OkStatus();
    }
    const auto given = given_.find(axis.text);
    if (given == given_.end()) {
      return ExpressionError(axis.column, absl::StrCat("axis '", axis.text,
                                                       "' is new: give its "
                                                       "size, as ",
                                                       axis.text, "=8"));
    }
    out.push_back({.axis = axis, .size = given->second});
    return absl::OkStatus();
  }

  const std::vector<BoundAxis>& left_;
  const GivenSizes& given_;
  absl::flat_hash_map<absl::string_view, BoundAxis> by_name_;
};

std::vector<BoundAxis> ReducedAxes(const AxisPattern& pattern, const AxisSides& sides) {
  absl::flat_hash_set<absl::string_view> kept;
  for (const BoundAxis& bound : sides.right) kept.insert(bound.axis.text);
  std::vector<BoundAxis> reduced;
  for (const BoundAxis& bound : sides.left) {
    switch (bound.axis.kind) {
      case AxisKind::kName:
        if (!kept.contains(bound.axis.text)) reduced.push_back(bound);
        break;
      case AxisKind::kNumber:
        if (bound.size != 1) reduced.push_back(bound);
        break;
      case AxisKind::kEllipsis:
        if (!pattern.right.has_ellipsis) reduced.push_back(bound);
        break;
    }
  }
  return reduced;
}

// Checks that every axis with a given size exists.
absl::Status CheckGivenAreUsed(absl::Span<const AxisSize> sizes, const AxisSides& sides) {
  absl::flat_hash_set<absl::string_view> known;
  for (const auto* side : {&sides.left, &sides.right}) {
    for (const BoundAxis& bound : *side) {
      if (bound.axis.kind == AxisKind::kName) known.insert(bound.axis.text);
    }
  }
  FieldViolations violations;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (known.contains(sizes[i].name)) continue;
    violations.Add(absl::StrCat("sizes[", i, "].name"),
                   absl::StrCat("'", absl::CHexEscape(sizes[i].name.substr(0, kMaxAxisNameBytes)),
                                "' is not an axis of the expression"));
  }
  return violations.ToStatus();
}

// Errors: see axis_transform.h.
absl::StatusOr<AxisSides> BindSides(const StridedTensor& tensor, absl::string_view expression,
                                    absl::Span<const AxisSize> sizes, AxisTransformKind kind) {
  SEXTANT_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenise(expression));
  TokenReader reader(std::move(tokens));
  SEXTANT_ASSIGN_OR_RETURN(const AxisPattern pattern, ParseAxisPattern(reader, kind));
  SEXTANT_ASSIGN_OR_RETURN(const GivenSizes given, GivenSizesOf(sizes));
  AxisSides sides;
  SEXTANT_ASSIGN_OR_RETURN(sides.left, BindAxes(pattern.left, tensor, given));
  SEXTANT_RETURN_IF_ERROR(RightSide(sides.left, given).Bind(pattern.right, sides));
  SEXTANT_RETURN_IF_ERROR(CheckGivenAreUsed(sizes, sides));
  FieldViolations violations;
  CheckShape(sides.shape, "result", violations);
  if (!violations.empty()) return violations.ToStatus();
  sides.reduced = ReducedAxes(pattern, sides);
  return sides;
}

// The tensor with the right side's axes: a view where strides exist, else a copy.
AxisTransform Arranged(const StridedTensor& tensor, const AxisSides& sides) {
  AxisTransform out;
  StridedTensor apart = tensor;
  apart.shape.clear();
  apart.strides.clear();
  for (const BoundAxis& bound : sides.right) {
    apart.shape.push_back(bound.size);
    apart.strides.push_back(bound.stride);
  }
  const absl::optional<Strides> strides = ViewStrides(apart, sides.shape);
  out.is_view = strides.has_value();
  if (strides.has_value()) {
    out.tensor = tensor;
    out.tensor.shape = sides.shape;
    out.tensor.strides = *strides;
    out.reason =
        "a view: splitting, reordering and repeating axes only changes strides, and "
        "those merged follow one another evenly in memory";
    return out;
  }
  out.tensor = ContiguousTensor(sides.shape, tensor.data_type);
  out.allocated_elements = out.tensor.storage_elements;
  out.read_elements = tensor.element_count();
  out.written_elements = out.tensor.storage_elements;
  out.reason =
      "a copy: axes are merged that do not follow one another evenly in memory, and an "
      "axis has only one stride";
  return out;
}

void NameAxes(const AxisSides& sides, AxisTransform& out) {
  absl::flat_hash_set<absl::string_view> seen;
  for (const auto* side : {&sides.left, &sides.right}) {
    for (const BoundAxis& bound : *side) {
      if (bound.axis.kind != AxisKind::kName || !seen.insert(bound.axis.text).second) continue;
      out.axes.push_back({std::string(bound.axis.text), bound.size});
    }
  }
  for (const BoundAxis& bound : sides.reduced) {
    out.reduced_axes.push_back(std::string(bound.axis.text));
  }
}

absl::StatusOr<AxisTransform> Arrange(const StridedTensor& tensor, absl::string_view expression,
                                      absl::Span<const AxisSize> sizes, AxisTransformKind kind) {
  SEXTANT_ASSIGN_OR_RETURN(const AxisSides sides, BindSides(tensor, expression, sizes, kind));
  AxisTransform out = Arranged(tensor, sides);
  NameAxes(sides, out);
  return out;
}

}  // namespace

absl::StatusOr<AxisTransform> Rearrange(const StridedTensor& tensor, absl::string_view expression,
                                        absl::Span<const AxisSize> sizes) {
  return Arrange(tensor, expression, sizes, AxisTransformKind::kRearrange);
}

absl::StatusOr<AxisTransform> Repeat(const StridedTensor& tensor, absl::string_view expression,
                                     absl::Span<const AxisSize> sizes) {
  return Arrange(tensor, expression, sizes, AxisTransformKind::kRepeat);
}

absl::StatusOr<AxisTransform> Reduce(const StridedTensor& tensor, absl::string_view expression,
                                     absl::Span<const AxisSize> sizes, ReductionKind kind) {
  SEXTANT_ASSIGN_OR_RETURN(const AxisSides sides,
                           BindSides(tensor, expression, sizes, AxisTransformKind::kReduce));
  AxisTransform out;
  if (sides.reduced.empty()) {
    out = Arranged(tensor, sides);
  } else {
    out.tensor = ContiguousTensor(sides.shape, tensor.data_type);
    out.allocated_elements = out.tensor.storage_elements;
    out.read_elements = tensor.element_count();
    out.written_elements = out.tensor.storage_elements;
    const int64_t divisions = kind == ReductionKind::kMean ? out.written_elements : 0;
    out.flops = Flops(static_cast<double>(out.read_elements) + static_cast<double>(divisions));
    out.reason = "a new tensor: each of its elements is made of several";
  }
  NameAxes(sides, out);
  return out;
}

}  // namespace sextant
