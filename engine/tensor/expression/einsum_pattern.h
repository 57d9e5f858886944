// Einsum expressions as text.
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_EINSUM_PATTERN_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_EINSUM_PATTERN_H_

#include <vector>

#include "absl/status/statusor.h"
#include "engine/tensor/expression/axis_term.h"
#include "engine/tensor/shape.h"

namespace sextant {

enum class EinsumStyle {
  // kNamed where a blank stands between two axes of a tensor, or a name has a digit or _, or
  // there is a number or a parenthesis; else kLetters.
  kDetect,
  // einops': "b s h, b t h -> b s t". Axes have names of any length, and the output is given.
  kNamed,
  // NumPy's: "bsh,bth->bst". Every letter is an axis. One that is repeated in an operand takes
  // its diagonal. Without "->" the output has "..." and then the letters that occur once,
  // sorted, upper case first.
  kLetters,
};

struct EinsumPattern {
  EinsumStyle style = EinsumStyle::kNamed;  // as it was read
  std::vector<AxisTerm> operands = {};
  AxisTerm output = {};
};

// Errors: kInvalidArgument "expression", with the column: as ParseAxisTerm(); more than
// kMaxOperands; a composite axis; an axis twice in the output, or in no operand; a number in the
// output other than 1; "..." in the output alone; no output in the named style.
absl::StatusOr<EinsumPattern> ParseEinsum(TokenReader& reader, EinsumStyle style);

// The style that `tokens` are in, by the rule above.
EinsumStyle DetectEinsumStyle(const std::vector<Token>& tokens);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_EINSUM_PATTERN_H_
