// Whether a tensor has the axes that a line of code says: "batch seq heads hidden".
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_SHAPE_CHECK_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_SHAPE_CHECK_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/tensor/expression/axis_term.h"
#include "engine/tensor/expression/token_reader.h"
#include "engine/tensor/shape.h"

namespace sextant {

struct DeclaredAxis {
  enum class Kind {
    kName,      // "seq": one size, everywhere the same
    kStretch,   // "#seq": that size, or 1
    kNumber,    // "3"
    kAny,       // "_": any one axis
    kSeveral,   // "*rest": any number of axes, everywhere the same sizes
    kEllipsis,  // "...": any number of axes
  };
  Kind kind = Kind::kAny;
  absl::string_view name = {};  // of kName, kStretch and kSeveral; points into the expression
  int64_t number = 0;           // of kNumber
  int column = 0;
};

// As jaxtyping writes shapes (documentation, "Array annotations").
//
// Errors: kInvalidArgument "expression" with the column: what names no axis, more than kMaxAxes,
// more than one of "..." and "*name".
absl::StatusOr<std::vector<DeclaredAxis>> ParseDeclaredAxes(TokenReader& reader);

// Sizes that names stand for, in the order in which they were bound.
struct ShapeBindings {
  struct Several {
    std::string name;
    Shape sizes;
  };
  std::vector<AxisSize> sizes = {};
  std::vector<Several> several = {};
};

struct ShapeCheck {
  bool matches = false;
  // One sentence each: "3 axes declared, the tensor has 4"; "'seq' is bound to 3 and to 4".
  std::vector<std::string> mismatches = {};
  // Those given and those found; of names that are bound twice the first.
  ShapeBindings bindings = {};
};

// A shape that does not match is an answer, not an error. `bindings` are those of tensors that
// were checked before: one name is one size among all of them.
//
// Errors: as ParseDeclaredAxes(); kInvalidArgument "shape" as CheckShape().
absl::StatusOr<ShapeCheck> CheckDeclaredShape(absl::string_view expression,
                                              absl::Span<const int64_t> shape,
                                              ShapeBindings bindings);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_SHAPE_CHECK_H_
