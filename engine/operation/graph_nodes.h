// A graph with its names resolved and its sizes computed: the tensors and nodes of an analysis, and
// how they hang together. Private to engine/operation.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_NODES_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_NODES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/base/call_work.h"
#include "engine/base/field_violation.h"
#include "engine/operation/graph.h"
#include "engine/operation/op_kernels.h"
#include "engine/tensor/strided_tensor.h"

namespace sextant {

inline constexpr size_t kNoIndex = ~size_t{0};

// A tensor of the graph. Its row lacks gradients until Differentiation.
struct GraphValue {
  GraphTensorRow row = {};
  StridedTensor layout = {};
  bool gradient_asked_for = false;  // a trained parameter, or an input that requires it
  bool frozen = false;
  size_t maker = kNoIndex;  // the node
  size_t root = 0;          // the value whose storage it shares; itself if its own
  bool is_read = false;     // by a node

  const std::string& name() const { return row.array.name; }
  bool is_parameter() const { return row.kind == GraphTensorKind::kParameter; }
};

// An operation of the graph. Its row lacks the backward pass until Differentiation.
struct GraphNode {
  GraphOperationRow row = {};
  // Arrays that are tensors of the graph have their types, and their shapes where the whole tensor
  // is used.
  OpKernels kernels = {};
  std::vector<size_t> operands = {};  // values of the kernels' operands; kNoIndex: the node's own
  size_t output = kNoIndex;           // the value
  size_t segment = kNoIndex;          // of GraphNodes::segments
  OperandSet needed = 0;              // operands whose gradients Differentiation makes
};

// A checkpointed run of nodes: first <= i < end.
struct CheckpointedSegment {
  std::string name = {};
  size_t first = 0;
  size_t end = 0;
};

// Steps of CallWork for an operation in each pass over a graph: about three microseconds.
inline constexpr int64_t kStepsAnOperation = 300;

struct GraphNodes {
  std::vector<GraphValue> values = {};  // given tensors, then one per node
  std::vector<GraphNode> nodes = {};
  std::vector<size_t> losses = {};  // values; empty where none are named, until Differentiation
  std::vector<CheckpointedSegment> segments = {};
};

// True where the numbers of `array` can have a gradient: they are in a floating-point format.
// Source of the behaviour: PyTorch, torch.Tensor.requires_grad.
bool CanHaveGradient(const Array& array);

// "operations[3]".
std::string OperationPath(size_t node);

// Errors: those of AnalyzeGraph(), except for losses that need no gradient and for sums.
absl::StatusOr<GraphNodes> BuildGraph(const GraphSpec& spec, CallWork& work);

struct NodeRequest {
  const GraphOperation& operation;
  const std::vector<GraphValue>& values;
  std::vector<size_t> inputs;  // values
  size_t output = 0;           // the value to make
  FlopConvention convention;
};

struct BuiltNode {
  GraphNode node;
  GraphValue value;
};

// Absent where there are errors, which are added below `path`.
absl::optional<BuiltNode> BuildNode(const NodeRequest& request, absl::string_view path,
                                    FieldViolations& violations);

// True where the backward pass writes the gradient of `operand`; false where it passes on the
// output's gradient unchanged.
bool WritesGradientOf(const OpKernels& kernels, size_t operand);

// A tensor that an operation reads. Its shape has passed CheckShape().
struct OperationInput {
  absl::string_view name = {};
  absl::Span<const int64_t> shape = {};
  bool is_index = false;  // ids or a mask
};

struct SizedOperation {
  Operation operation;           // all sizes given; has passed CheckOperation()
  std::vector<size_t> operands;  // of the kernels, by input
  Shape shape;                   // of the output
};

// `operation` with its zero sizes computed from `inputs`, as docs/operation_costs.md, "Graphs"
// lists. Absent where there are errors, which are added: "operations[3].inputs[1]" below `path`
// where a tensor does not fit, "operations[3].operation.linear.input_size" where a given size does
// not.
absl::optional<SizedOperation> SizeOperation(const Operation& operation,
                                             absl::Span<const OperationInput> inputs,
                                             absl::string_view path, FieldViolations& violations);

// A gradient of a tensor: the whole one, or one of several that are accumulated.
struct GradientArray {
  size_t value = kNoIndex;   // the tensor
  size_t shares = kNoIndex;  // the gradient whose storage it shares, if any
  size_t last_read = 0;      // the last action that reads it, else the one that makes it
  bool held = false;         // to the end of the step
};

// One action of the backward pass.
struct BackwardAction {
  size_t node = kNoIndex;          // the node it differentiates; kNoIndex: adds two gradients
  std::vector<size_t> reads = {};  // gradient arrays
  std::vector<size_t> makes = {};
};

struct GraphGradients {
  std::vector<GradientArray> arrays = {};  // the losses' first
  std::vector<BackwardAction> actions = {};
};

// An array that the optimizer keeps for one parameter.
struct KeptState {
  size_t value = kNoIndex;
  std::string name;  // "state 1", "master weight"
  Bytes size = Bytes(0);
};

// The optimizer's step over a graph's parameters, and its state.
struct GraphUpdate {
  CostSum cost = {};
  std::vector<KeptState> kept = {};
};

struct LifetimeRequest {
  const GraphNodes& graph;
  const GraphGradients& gradients;
  const GraphUpdate& update;
  CallWork& work;
  bool checkpointed = false;  // recompute the graph's segments
  RecomputeExtent extent = RecomputeExtent::kWholeSegment;
};

// Moments in sequence: the forward pass in the list's order; the backward pass's actions, where
// the first one of a checkpointed segment comes after the segment's recomputation; the update. An
// array lives from the moment that makes it to the last one that reads it, both included.
//
// Accumulated gradients: the sum overwrites the first one unless that is read later through
// another gradient that shares its storage; then the second one; else it gets its own storage.
//
// Errors: kInvalidArgument "operations" where all arrays together exceed 9.2e18 bytes.
absl::StatusOr<GraphMemory> MemoryOf(const LifetimeRequest& request);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_NODES_H_
