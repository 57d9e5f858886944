// A chain of actions of model code on a tensor: steps, expressions and questions.
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_TENSOR_ANALYSIS_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_TENSOR_ANALYSIS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/tensor/expression/axis_term.h"
#include "engine/tensor/expression/axis_transform.h"
#include "engine/tensor/expression/token.h"
#include "engine/tensor/shape.h"
#include "engine/tensor/tensor_step.h"

namespace sextant {

struct DeclaredAxis {
  enum class Kind {
    kName,      // "seq": the same size everywhere
    kStretch,   // "#seq": that size, or 1
    kNumber,    // "3"
    kAny,       // "_": any one axis
    kSeveral,   // "*rest": any number of axes, the same sizes everywhere
    kEllipsis,  // "...": any number of axes
  };
  Kind kind = Kind::kAny;
  absl::string_view name = {};  // of kName, kStretch and kSeveral; points into the expression
  int64_t number = 0;           // of kNumber
  int column = 0;
};

// Parses shapes as jaxtyping writes them (documentation, "Array annotations").
//
// Errors: kInvalidArgument "expression" with the column: a token that is not an axis, more than
// kMaxAxes, more than one of "..." and "*name".
absl::StatusOr<std::vector<DeclaredAxis>> ParseDeclaredAxes(TokenReader& reader);

// Sizes bound to names, in the order of binding.
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
  // Given bindings and new ones; a name bound twice keeps its first size.
  ShapeBindings bindings = {};
};

// A shape that does not match is a result, not an error. `bindings` come from tensors that were
// checked before: a name has one size in all of them.
//
// Errors: as ParseDeclaredAxes(); kInvalidArgument "shape" as CheckShape().
absl::StatusOr<ShapeCheck> CheckDeclaredShape(absl::string_view expression,
                                              absl::Span<const int64_t> shape,
                                              ShapeBindings bindings);

struct RearrangeAction {
  static constexpr absl::string_view kName = "rearrange";
  std::string expression = {};
  std::vector<AxisSize> sizes = {};
};

struct RepeatAction {
  static constexpr absl::string_view kName = "repeat";
  std::string expression = {};
  std::vector<AxisSize> sizes = {};
};

struct ReduceAction {
  static constexpr absl::string_view kName = "reduce";
  std::string expression = {};
  std::vector<AxisSize> sizes = {};
  ReductionKind kind = ReductionKind::kSum;
};

// Checks that the tensor has the declared axes; a name has one size in all checks of a chain.
struct CheckShapeAction {
  static constexpr absl::string_view kName = "check_shape";
  std::string expression = {};
};

// Finds the storage position of the element at `index`.
struct FlatIndexAction {
  static constexpr absl::string_view kName = "flat_index";
  std::vector<int64_t> index = {};
};

using TensorAction = std::variant<TensorStep, RearrangeAction, RepeatAction, ReduceAction,
                                  CheckShapeAction, FlatIndexAction>;

inline constexpr int kMaxTensorActions = 64;

// The most different names in all shape checks of a chain; each result has all so far.
inline constexpr size_t kMaxCheckedNames = 64;

// The outcome of a rearrangement, repetition or reduction in addition to its step.
struct TransformDetail {
  std::vector<AxisSize> axes = {};  // every named axis, in order of appearance
  Bytes read = Bytes(0);            // 0 for a view
  Bytes written = Bytes(0);         // 0 for a view
  Flops flops = Flops(0);
};

struct ActionResult {
  absl::string_view name;
  StepResult step = {};  // for a question: the unchanged tensor
  Bytes allocated = Bytes(0);
  absl::optional<TransformDetail> transform = {};
  absl::optional<ShapeCheck> check = {};
  absl::optional<int64_t> storage_position = {};  // in elements
};

struct TensorAnalysis {
  std::vector<ActionResult> results = {};
  Bytes allocated = Bytes(0);  // by all actions
};

// "transpose", "rearrange", ...
absl::string_view ActionName(const TensorAction& action);

// Applies the actions in sequence, each to the previous result. Bytes are those of dense tensors
// (TensorBytes); a transform that copies reads and writes each of its elements once.
//
// Errors: kInvalidArgument "steps" where there are too many or they allocate more than 9.2e18
// bytes; else the errors of the first action that fails, "steps[2].select.axis",
// "steps[0].rearrange.expression"; "steps[9].check_shape.expression" above kMaxCheckedNames names.
absl::StatusOr<TensorAnalysis> AnalyzeTensor(const StridedTensor& tensor,
                                             absl::Span<const TensorAction> actions);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_TENSOR_ANALYSIS_H_
