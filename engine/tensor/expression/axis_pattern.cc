#include "engine/tensor/expression/axis_pattern.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

absl::Status CheckNumbers(const AxisTerm& term, bool any_number, absl::string_view advice) {
  for (const AxisGroup& group : term.groups) {
    for (const TermAxis& axis : group.axes) {
      if (axis.kind != AxisKind::kNumber || axis.number == 1 || any_number) continue;
      return ExpressionError(axis.column,
                             absl::StrCat("an axis of ", axis.number, " without a name: ", advice));
    }
  }
  return absl::OkStatus();
}

// Every name and "..." of `term` has to be in `other`.
absl::Status CheckIn(const AxisTerm& term, const AxisTerm& other, absl::string_view what_is_wrong) {
  absl::flat_hash_set<absl::string_view> known;
  for (const AxisGroup& group : other.groups) {
    for (const TermAxis& axis : group.axes) known.insert(axis.text);
  }
  for (const AxisGroup& group : term.groups) {
    for (const TermAxis& axis : group.axes) {
      if (axis.kind == AxisKind::kNumber || known.contains(axis.text)) continue;
      return ExpressionError(axis.column, absl::StrCat("axis '", axis.text, "' ", what_is_wrong));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckEllipsis(const AxisPattern& pattern) {
  for (const AxisGroup& group : pattern.left.groups) {
    for (const TermAxis& axis : group.axes) {
      if (axis.kind != AxisKind::kEllipsis || !group.is_composite) continue;
      return ExpressionError(axis.column,
                             "'...' in parentheses on the left: what it stands for "
                             "can't be known there");
    }
  }
  if (!pattern.right.has_ellipsis || pattern.left.has_ellipsis) return absl::OkStatus();
  return ExpressionError(pattern.right.column, "'...' is on the right alone");
}

absl::Status CheckSides(const AxisPattern& pattern, AxisTransformKind kind) {
  SEXTANT_RETURN_IF_ERROR(CheckEllipsis(pattern));
  SEXTANT_RETURN_IF_ERROR(CheckNumbers(pattern.left, kind == AxisTransformKind::kReduce,
                                       "only reduce takes one away; name it"));
  SEXTANT_RETURN_IF_ERROR(CheckNumbers(pattern.right, kind == AxisTransformKind::kRepeat,
                                       "only repeat adds one; name it"));
  if (kind != AxisTransformKind::kReduce) {
    SEXTANT_RETURN_IF_ERROR(
        CheckIn(pattern.left, pattern.right, "is on the left alone: only reduce takes axes away"));
  }
  if (kind != AxisTransformKind::kRepeat) {
    SEXTANT_RETURN_IF_ERROR(
        CheckIn(pattern.right, pattern.left, "is on the right alone: only repeat adds axes"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AxisPattern> ParseAxisPattern(TokenReader& reader, AxisTransformKind kind) {
  AxisPattern pattern;
  SEXTANT_ASSIGN_OR_RETURN(pattern.left, ParseAxisTerm(reader));
  const Token arrow = reader.Take();
  if (arrow.kind != TokenKind::kArrow) {
    return ExpressionError(arrow.column,
                           "'->' belongs here: one tensor's axes before it, the "
                           "result's after it");
  }
  SEXTANT_ASSIGN_OR_RETURN(pattern.right, ParseAxisTerm(reader));
  const Token end = reader.Take();
  if (end.kind != TokenKind::kEnd) {
    return ExpressionError(end.column, absl::StrCat("'", end.text,
                                                    "' after the result, which is "
                                                    "one tensor"));
  }
  SEXTANT_RETURN_IF_ERROR(CheckSides(pattern, kind));
  return pattern;
}

}  // namespace sextant
