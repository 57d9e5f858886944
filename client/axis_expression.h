// Axis expressions as a step of `sextant tensor` writes them, sizes and all:
// "b s (h d) -> b h s d, h=8".
#ifndef SEXTANT_CLIENT_AXIS_EXPRESSION_H_
#define SEXTANT_CLIENT_AXIS_EXPRESSION_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "sextant/v1/tensor.pb.h"

namespace sextant {

// Reads an expression and, behind commas, sizes "AXIS=SIZE". What the expression means is the
// server's to say.
//
// Errors: kInvalidArgument, saying what is wrong.
absl::Status ReadAxisExpression(absl::string_view text, v1::AxisExpression* expression);

// The same, and behind a comma "sum", "mean", "max", "min" or "product".
absl::Status ReadReduction(absl::string_view text, v1::TensorStep::Reduce* reduce);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_AXIS_EXPRESSION_H_
