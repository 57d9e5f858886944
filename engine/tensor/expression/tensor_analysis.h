// A chain of what lines of model code do with a tensor: steps, expressions and questions.
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
#include "engine/tensor/expression/axis_transform.h"
#include "engine/tensor/expression/shape_check.h"
#include "engine/tensor/tensor_step.h"

namespace sextant {

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

// Whether the tensor has the axes declared; a name is one size in all checks of a chain.
struct CheckShapeAction {
  static constexpr absl::string_view kName = "check_shape";
  std::string expression = {};
};

// Where in the storage the element at `index` is.
struct FlatIndexAction {
  static constexpr absl::string_view kName = "flat_index";
  std::vector<int64_t> index = {};
};

using TensorAction = std::variant<TensorStep, RearrangeAction, RepeatAction, ReduceAction,
                                  CheckShapeAction, FlatIndexAction>;

inline constexpr int kMaxTensorActions = 64;

// Different names in all shape checks of a chain; each check answers with all so far.
inline constexpr size_t kMaxCheckedNames = 64;

// What a rearrangement, repetition or reduction did beside its step.
struct TransformDetail {
  std::vector<AxisSize> axes = {};  // every named axis, in order of appearance
  Bytes read = Bytes(0);            // 0 for a view
  Bytes written = Bytes(0);         // 0 for a view
  Flops flops = Flops(0);
};

struct ActionResult {
  absl::string_view name;
  StepResult step = {};  // of a question: the tensor as it is
  Bytes allocated = Bytes(0);
  absl::optional<TransformDetail> transform = {};
  absl::optional<ShapeCheck> check = {};
  absl::optional<int64_t> storage_position = {};  // in elements
};

struct TensorAnalysis {
  std::vector<ActionResult> results = {};
  Bytes allocated = Bytes(0);  // by all
};

// "transpose", "rearrange", ...
absl::string_view ActionName(const TensorAction& action);

// One after the other, each on the result of the one before. Bytes are those of dense tensors
// (TensorBytes); a transform that copies reads and writes each of its elements once.
//
// Errors: kInvalidArgument "steps" where there are too many or they allocate more than 9.2e18
// bytes, or what is wrong with the first that fails, "steps[2].select.axis",
// "steps[0].rearrange.expression"; "steps[9].check_shape.expression" of more than
// kMaxCheckedNames names.
absl::StatusOr<TensorAnalysis> AnalyzeTensor(const StridedTensor& tensor,
                                             absl::Span<const TensorAction> actions);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_TENSOR_ANALYSIS_H_
