// A graph with its names resolved and its sizes computed.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_NODES_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_NODES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/operation/graph.h"
#include "engine/operation/op_kernels.h"
#include "engine/tensor/strided_tensor.h"

namespace sextant {

inline constexpr size_t kNoIndex = ~size_t{0};

// A tensor of the graph.
struct GraphValue {
  GraphTensorKind kind = GraphTensorKind::kMade;
  Array array = {};
  StridedTensor layout = {};
  Bytes size = Bytes(0);
  int64_t elements = 0;
  bool gradient_asked_for = false;  // a trained parameter, or an input that requires it
  bool frozen = false;
  size_t maker = kNoIndex;  // the node
  size_t root = 0;          // the value whose storage it shares; itself if its own
  bool is_read = false;     // by a node
};

struct GraphNode {
  const GraphOperation* spec = nullptr;
  absl::string_view kind = {};
  Operation operation = {};  // sizes filled in; of a rearrangement meaningless
  OperationTypes types = {};
  // Arrays that are tensors of the graph have their types, and their shapes where the whole tensor
  // is used.
  OpKernels kernels = {};
  std::vector<size_t> operands = {};  // values of the kernels' operands; kNoIndex: the node's own
  size_t output = kNoIndex;           // the value
  OperationCost forward = {};
  std::string note = {};
  size_t segment = kNoIndex;  // of GraphNodes::segments
};

// A checkpointed run of nodes: first <= i < end.
struct CheckpointedSegment {
  std::string name = {};
  size_t first = 0;
  size_t end = 0;
};

// Steps of `work` for an operation in each pass over a graph: about three microseconds.
inline constexpr int64_t kStepsAnOperation = 300;

struct GraphNodes {
  std::vector<GraphValue> values = {};  // given tensors, then one per node
  std::vector<GraphNode> nodes = {};
  std::vector<size_t> losses = {};  // values; empty where none are named
  std::vector<CheckpointedSegment> segments = {};
};

// True where the numbers of `array` can have a gradient: they are in a floating-point format.
// Source of the behaviour: PyTorch, torch.Tensor.requires_grad.
bool CanHaveGradient(const Array& array);

// "operations[3]".
std::string OperationPath(size_t node);

// `spec` must outlive the result.
//
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

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_NODES_H_
