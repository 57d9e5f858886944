// One tensor's axes in an expression, "b (h d) 1 ...", and a pattern of two such terms.
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_TERM_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_TERM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/tensor/expression/token.h"

namespace sextant {

enum class AxisKind { kName, kNumber, kEllipsis };

struct TermAxis {
  AxisKind kind = AxisKind::kName;
  absl::string_view text = {};  // points into the expression
  int64_t number = 0;           // kNumber only
  int column = 0;
};

// One axis of the tensor: a single one, or a composite "(h d)", outermost first. "()" has no axes,
// and size 1.
struct AxisGroup {
  std::vector<TermAxis> axes = {};
  bool is_composite = false;
  int column = 0;
};

struct AxisTerm {
  std::vector<AxisGroup> groups = {};
  int column = 0;  // of its first token, or of the token after an empty term
  bool has_ellipsis = false;
};

// Reads axes up to a comma, an arrow or the end.
//
// Errors: kInvalidArgument "expression": a parenthesis that is not closed, not open or inside
// another; a token that is not an axis; more than kMaxAxes axes; '...' or a name twice.
absl::StatusOr<AxisTerm> ParseAxisTerm(TokenReader& reader);

// Reads "ij" as the axes i and j, one per letter; a letter may appear twice.
//
// Errors: kInvalidArgument "expression": anything but letters and '...'; too many axes; '...'
// twice.
absl::StatusOr<AxisTerm> ParseLetterTerm(TokenReader& reader);

// An axis and its size, found or given by a caller.
struct AxisSize {
  std::string name = {};
  int64_t size = 0;

  friend bool operator==(const AxisSize&, const AxisSize&) = default;
};

enum class AxisTransformKind {
  kRearrange,  // the same axes on both sides
  kReduce,     // the right side lacks the reduced axes
  kRepeat,     // the right side has additional axes
};

// "b (h d) -> b h d": how a tensor's axes are split, reordered, merged, dropped and repeated.
struct AxisPattern {
  AxisTerm left = {};
  AxisTerm right = {};
};

// The rules are those of einops (documentation of rearrange, reduce and repeat): an axis appears
// once per side; "..." on the left is not in parentheses; a number is an unnamed axis: 1 is
// allowed everywhere, other numbers only for axes that reduce removes or repeat adds.
//
// Errors: kInvalidArgument "expression", with the column.
absl::StatusOr<AxisPattern> ParseAxisPattern(TokenReader& reader, AxisTransformKind kind);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_TERM_H_
