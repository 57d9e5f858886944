// A model's training step as operations over named tensors.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_SPEC_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_SPEC_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/operation/flop_convention.h"
#include "engine/operation/operation.h"
#include "engine/tensor/data_type.h"
#include "engine/tensor/expression/axis_term.h"
#include "engine/tensor/shape.h"

namespace sextant {

inline constexpr int kMaxGraphOperations = 4096;
// Those that are given and those that operations make.
inline constexpr int kMaxGraphTensors = 8192;
// Of all operations together; one has at most kMaxOperands.
inline constexpr int kMaxGraphInputs = 16384;
// A name is of 1 to so many bytes of UTF-8, without control characters.
inline constexpr int kMaxGraphNameBytes = 64;

// A tensor that comes from outside. All others are made by an operation.
struct GraphTensor {
  std::string name = {};
  Shape shape = {};
  DataType data_type = DataType::kUnspecified;  // kUnspecified: the graph's
  // Bytes of an element that is no number of a format, an id or a mask: 1, 2, 4 or 8; else 0.
  int64_t index_bytes = 0;
  bool parameter = false;
  bool frozen = false;             // a parameter that is not trained: it has no gradient
  bool requires_gradient = false;  // an input whose gradient is asked for
};

// "(b t) (h d) -> b h t d": a view, which is free, or a copy, as Rearrange() says.
struct Rearrangement {
  std::string expression = {};
  std::vector<AxisSize> sizes = {};
};

// Sizes of `work` that are 0 follow from its inputs: docs/graphs.md lists how.
struct GraphOperation {
  std::string name = {};
  std::variant<Operation, Rearrangement> work = {};
  std::vector<std::string> inputs = {};  // given tensors, and outputs of earlier operations
  std::string output = {};               // the tensor that it makes
  // kUnspecified: as the first input that holds numbers.
  DataType output_data_type = DataType::kUnspecified;
  // Operations of one name are one run of the list. Empty: of none.
  std::string segment = {};
};

// What is done again of a checkpointed segment before its backward pass.
enum class RecomputeExtent {
  kWholeSegment,  // every operation: one forward pass more
  // Up to the last operation of which the backward pass reads anything: that one included where
  // it reads what the operation makes, left out where it reads what goes into it alone. It is
  // what torch.utils.checkpoint does where early_stop is on: it ends where the last tensor is
  // saved, and inputs are saved before an operation computes.
  kUntilLastNeeded,
};

struct GraphSpec {
  std::vector<GraphTensor> tensors = {};
  std::vector<GraphOperation> operations = {};  // in the order in which they run
  // Tensors whose gradients are given. Empty: all made tensors that nothing reads and that
  // depend on something that a gradient is asked of.
  std::vector<std::string> losses = {};
  std::vector<std::string> checkpointed_segments = {};
  RecomputeExtent extent = RecomputeExtent::kWholeSegment;
  DataType data_type = DataType::kUnspecified;
  UpdateRule rule = UpdateRule::kAdamw;
  // Of parameters that are narrower than the optimizer's state: such a parameter is also kept
  // in the state's format.
  bool master_weights = false;
  FlopConvention convention = {};
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_SPEC_H_
