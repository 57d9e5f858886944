// One tensor's axes as an expression names them: "b (h d) 1 ...".
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_TERM_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_TERM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/tensor/expression/token_reader.h"

namespace sextant {

enum class AxisKind { kName, kNumber, kEllipsis };

struct TermAxis {
  AxisKind kind = AxisKind::kName;
  absl::string_view text = {};  // points into the expression
  int64_t number = 0;           // of a kNumber
  int column = 0;
};

// One axis of the tensor: a single one, or several that it is made of, "(h d)", outermost first.
// "()" has none, and size 1.
struct AxisGroup {
  std::vector<TermAxis> axes = {};
  bool is_composite = false;
  int column = 0;
};

struct AxisTerm {
  std::vector<AxisGroup> groups = {};
  int column = 0;  // of its first token, or of what follows an empty term
  bool has_ellipsis = false;
};

// Reads axes up to a comma, an arrow or the end.
//
// Errors: kInvalidArgument "expression": a parenthesis that is not closed, not open or within
// another; a token that names no axis; more than kMaxAxes axes; '...' or a name twice.
absl::StatusOr<AxisTerm> ParseAxisTerm(TokenReader& reader);

// Reads "ij" as the axes i and j, a letter each, which may appear twice.
//
// Errors: kInvalidArgument "expression": anything but letters and '...'; too many axes; '...'
// twice.
absl::StatusOr<AxisTerm> ParseLetterTerm(TokenReader& reader);

// An axis and the size that it has, or that a caller gives it.
struct AxisSize {
  std::string name = {};
  int64_t size = 0;

  friend bool operator==(const AxisSize&, const AxisSize&) = default;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_AXIS_TERM_H_
