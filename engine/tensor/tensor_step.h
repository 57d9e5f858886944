// The steps of a line of model code on a tensor: some are views of the same storage, others
// allocate.
//
// Behaviour and names are PyTorch's (documentation of torch.Tensor, "Tensor Views"), except that
// empty results are rejected: every size is at least 1.
#ifndef SEXTANT_ENGINE_TENSOR_TENSOR_STEP_H_
#define SEXTANT_ENGINE_TENSOR_TENSOR_STEP_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/tensor/strided_tensor.h"

namespace sextant {

// Axes, and indices along them, may be negative: they then count from the end.

// x[index] along `axis`, which is removed.
struct SelectStep {
  static constexpr absl::string_view kName = "select";
  int64_t axis = 0;
  int64_t index = 0;
};

// x[start:stop:step] along `axis`. As in Python, bounds beyond the axis are clamped.
struct SliceStep {
  static constexpr absl::string_view kName = "slice";
  int64_t axis = 0;
  absl::optional<int64_t> start = {};  // 0 if not given
  absl::optional<int64_t> stop = {};   // the axis's size if not given
  int64_t step = 1;                    // 1 to kMaxDimension
};

struct TransposeStep {
  static constexpr absl::string_view kName = "transpose";
  int64_t axis_a = 0;
  int64_t axis_b = 1;
};

// The result's axis i is the tensor's axis axes[i].
struct PermuteStep {
  static constexpr absl::string_view kName = "permute";
  std::vector<int64_t> axes = {};
};

// The same elements in the same order in another shape. One size may be -1: it takes the remaining
// elements. Rejected where the storage would have to be reordered.
struct ViewStep {
  static constexpr absl::string_view kName = "view";
  Shape shape = {};
};

// A view where one exists, else a copy.
struct ReshapeStep {
  static constexpr absl::string_view kName = "reshape";
  Shape shape = {};
};

// Repeats axes of size 1, and adds axes in front; -1 keeps a size.
struct ExpandStep {
  static constexpr absl::string_view kName = "expand";
  Shape shape = {};
};

// Removes `axis` if its size is 1; all axes of size 1 if none is given.
struct SqueezeStep {
  static constexpr absl::string_view kName = "squeeze";
  absl::optional<int64_t> axis = {};
};

// Inserts an axis of size 1 as axis `axis` of the result.
struct UnsqueezeStep {
  static constexpr absl::string_view kName = "unsqueeze";
  int64_t axis = 0;
};

// Merges the axes from `first` to `last`, both included; a view where one exists, else a copy.
struct FlattenStep {
  static constexpr absl::string_view kName = "flatten";
  int64_t first = 0;
  int64_t last = -1;
};

struct ContiguousStep {
  static constexpr absl::string_view kName = "contiguous";
};

struct CastStep {
  static constexpr absl::string_view kName = "cast";
  DataType data_type = DataType::kUnspecified;
};

// An operation that makes one new element, of the tensor's data type, from each element (or, for
// softmax and triu, from its row or position).
struct ElementwiseStep {
  static constexpr absl::string_view kName = "elementwise";
  std::string name = {};
  // The shape of the other operand, if there are two: row-major, broadcast. The tensor's own if
  // not given.
  absl::optional<Shape> other_shape = {};
};

using TensorStep = std::variant<SelectStep, SliceStep, TransposeStep, PermuteStep, ViewStep,
                                ReshapeStep, ExpandStep, SqueezeStep, UnsqueezeStep, FlattenStep,
                                ContiguousStep, CastStep, ElementwiseStep>;

struct StepResult {
  StridedTensor tensor = {};
  bool is_view = false;  // shares the previous tensor's storage
  // In elements of tensor.data_type; 0 for a view.
  int64_t allocated_elements = 0;
  bool is_contiguous = false;
  std::string reason = {};  // one sentence: why it is a view or a copy
};

// "select", "slice", ...
absl::string_view StepName(const TensorStep& step);

// Errors: kInvalidArgument naming the step's field, "axis".
absl::StatusOr<StepResult> ApplyStep(const StridedTensor& tensor, const TensorStep& step);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_TENSOR_STEP_H_
