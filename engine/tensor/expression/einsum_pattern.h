// Einsum expressions as text.
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_EINSUM_PATTERN_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_EINSUM_PATTERN_H_

#include <vector>

#include "absl/status/statusor.h"
#include "engine/tensor/expression/axis_term.h"
#include "engine/tensor/shape.h"

namespace sextant {

enum class EinsumStyle {
  // kNamed where there is a blank between two axes of a tensor, a name with a digit or _, a number
  // or a parenthesis; else kLetters.
  kDetect,
  // As in einops: "b s h, b t h -> b s t". Axes have names of any length, and the output is
  // required.
  kNamed,
  // As in NumPy: "bsh,bth->bst". Every letter is an axis. A letter repeated in an operand takes
  // its diagonal. Without "->" the output has "..." and then the letters that occur once, sorted,
  // upper case first.
  kLetters,
};

struct EinsumPattern {
  EinsumStyle style = EinsumStyle::kNamed;  // the style it was read in
  std::vector<AxisTerm> operands = {};
  AxisTerm output = {};
};

// Errors: kInvalidArgument "expression", with the column: as ParseAxisTerm(); more than
// kMaxOperands; a composite axis; an axis twice in the output, or in no operand; a number in the
// output other than 1; "..." only in the output; no output in the named style.
absl::StatusOr<EinsumPattern> ParseEinsum(TokenReader& reader, EinsumStyle style);

// The style of `tokens`, by the rule above.
EinsumStyle DetectEinsumStyle(const std::vector<Token>& tokens);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_EINSUM_PATTERN_H_
