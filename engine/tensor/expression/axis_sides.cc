#include "engine/tensor/expression/axis_sides.h"

#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

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

// Every axis that a caller gives a size for has to be there.
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
                                "' is no axis of the expression"));
  }
  return violations.ToStatus();
}

}  // namespace

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

}  // namespace sextant
