// What a graph of operations costs: one training step, forward, backward and update.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "engine/operation/analysis.h"
#include "engine/operation/cost.h"
#include "engine/operation/graph_memory.h"
#include "engine/operation/graph_spec.h"

namespace sextant {

enum class GraphTensorKind { kParameter, kInput, kMade };

struct GraphTensorRow {
  std::string name;
  GraphTensorKind kind = GraphTensorKind::kMade;
  Array array;  // its shape and its type
  Bytes size = Bytes(0);
  int64_t elements = 0;
  std::string view_of;  // the tensor whose storage it looks at; empty where it has its own
  bool has_gradient = false;
  // That arrive from its readers, and one that is given for a loss; all but the first are
  // added up.
  int64_t gradient_count = 0;
};

struct GraphOperationRow {
  std::string name;
  absl::string_view kind;  // "linear", "rearrange"
  Operation operation;     // sizes filled in; a rearrangement's is meaningless
  OperationTypes types;
  OperationCost forward;
  absl::optional<BackwardCost> backward;  // absent where no gradient arrives
  std::vector<std::string> gradients;     // inputs that get one, as often as they are read
  std::string note;                       // a rearrangement: why it is a view or a copy
};

// What the optimizer keeps, over all trained parameters.
struct OptimizerBuffer {
  std::string name;  // "state 1", "master weight"
  Bytes size = Bytes(0);
};

struct GraphTotals {
  int64_t trainable_parameters = 0;
  int64_t frozen_parameters = 0;
  // Of the trainable ones, those that no gradient reaches: they are neither updated, nor does
  // the optimizer keep anything for them.
  int64_t parameters_without_gradient = 0;
  Bytes parameter_bytes = Bytes(0);
  Bytes gradient_bytes = Bytes(0);  // of parameters, each in its parameter's type
  std::vector<OptimizerBuffer> optimizer = {};
  Bytes optimizer_bytes = Bytes(0);

  CostSum forward = {};
  CostSum backward = {};  // without what is added up between operations
  // The same in two: what gradients of parameters add to that of everything else.
  Flops backward_input_flops = {};
  Flops backward_parameter_flops = {};
  CostSum accumulation = {};  // of tensors that several gradients arrive at
  int64_t accumulation_count = 0;
  CostSum update = {};
};

struct GraphAnalysis {
  std::vector<GraphTensorRow> tensors;        // given ones, then those made, in order
  std::vector<GraphOperationRow> operations;  // in order
  std::vector<std::string> losses;
  GraphTotals totals;
  GraphMemory memory;                             // without checkpointing
  absl::optional<GraphMemory> checkpointed = {};  // where segments are named
};

// Source: reverse accumulation (Linnainmaa 1976; Griewank, Walther, Evaluating Derivatives,
// 2nd ed. 2008, chapter 3) over the recipes of the operations; all rules in docs/graphs.md.
//
// Errors: kInvalidArgument naming "tensors[1].shape[0]", "operations[3].inputs[0]",
// "operations[3].operation.linear.input_size", "losses[0]" and so on, all that can be found at
// once.
absl::StatusOr<GraphAnalysis> AnalyzeGraph(const GraphSpec& spec);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_H_
