// A model's training step as operations over named tensors.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/call_work.h"
#include "engine/base/units.h"
#include "engine/operation/analysis.h"
#include "engine/operation/cost.h"
#include "engine/operation/operation.h"
#include "engine/tensor/data_type.h"
#include "engine/tensor/expression/axis_term.h"
#include "engine/tensor/shape.h"

namespace sextant {

inline constexpr int kMaxGraphOperations = 4096;

// Given tensors and those made by operations.
inline constexpr int kMaxGraphTensors = 8192;

// Inputs of all operations together; a single one has at most kMaxOperands.
inline constexpr int kMaxGraphInputs = 16384;

// A name has at most this many bytes of UTF-8, at least one, and no control characters.
inline constexpr int kMaxGraphNameBytes = 64;

// A tensor given from outside. All others are made by an operation.
struct GraphTensor {
  std::string name = {};
  Shape shape = {};
  DataType data_type = DataType::kUnspecified;  // kUnspecified: the graph's
  // Bytes per element of data that isn't numbers of a format (an id or a mask): 1, 2, 4 or 8; else
  // 0.
  int64_t index_bytes = 0;
  bool parameter = false;
  bool frozen = false;             // a parameter that is not trained and has no gradient
  bool requires_gradient = false;  // an input whose gradient is requested
};

// "(b t) (h d) -> b h t d": a view, which is free, or a copy, as in Rearrange().
struct Rearrangement {
  std::string expression = {};
  std::vector<AxisSize> sizes = {};
};

// Sizes of `work` that are 0 follow from its inputs; docs/operation_costs.md, "Graphs", lists the
// rules.
struct GraphOperation {
  std::string name = {};
  std::variant<Operation, Rearrangement> work = {};
  std::vector<std::string> inputs = {};  // given tensors, and outputs of earlier operations
  std::string output = {};               // the tensor that it makes
  // kUnspecified: as the first input that holds numbers.
  DataType output_data_type = DataType::kUnspecified;
  // Operations of one segment are consecutive. Empty: none.
  std::string segment = {};
};

// The extent of recomputation of a checkpointed segment before its backward pass.
enum class RecomputeExtent {
  kWholeSegment,  // every operation: one more forward pass
  // Up to the last operation that the backward pass needs anything of. That operation is included
  // if its result is needed, and excluded if only its inputs are. torch.utils.checkpoint does the
  // same with early_stop on: it stops when the last tensor is saved, and inputs are saved before
  // an operation computes.
  kUntilLastNeeded,
};

struct GraphSpec {
  std::vector<GraphTensor> tensors = {};
  std::vector<GraphOperation> operations = {};  // in the order in which they run
  // Tensors whose gradients are given. Empty: all made tensors that nothing reads and that depend
  // on something whose gradient is requested.
  std::vector<std::string> losses = {};
  std::vector<std::string> checkpointed_segments = {};
  RecomputeExtent extent = RecomputeExtent::kWholeSegment;
  DataType data_type = DataType::kUnspecified;
  UpdateRule rule = UpdateRule::kAdamw;
  // Applies to parameters narrower than the optimizer's state: such a parameter is also kept in
  // the state's format.
  bool master_weights = false;
  FlopConvention convention = {};
};

// The cost of a graph of operations over one training step: forward, backward and update.

enum class GraphTensorKind { kParameter, kInput, kMade };

struct GraphTensorRow {
  std::string name;
  GraphTensorKind kind = GraphTensorKind::kMade;
  Array array;  // its shape and its type
  Bytes size = Bytes(0);
  int64_t elements = 0;
  std::string view_of;  // the tensor whose storage it shares; empty: its own
  bool has_gradient = false;
  // Gradients from its readers, plus one given for a loss; all but the first are accumulated.
  int64_t gradient_count = 0;
};

struct GraphOperationRow {
  std::string name;
  absl::string_view kind;  // "linear", "rearrange"
  Operation operation;     // sizes filled in; a rearrangement's is meaningless
  OperationTypes types;
  OperationCost forward;
  absl::optional<BackwardCost> backward = {};  // absent where no gradient arrives
  std::vector<std::string> gradients = {};     // inputs that get a gradient, once per read
  std::string note = {};                       // for a rearrangement: why it is a view or a copy
};

// State that the optimizer keeps, over all trained parameters.
struct OptimizerBuffer {
  std::string name;  // "state 1", "master weight"
  Bytes size = Bytes(0);
};

struct GraphTotals {
  int64_t trainable_parameters = 0;
  int64_t frozen_parameters = 0;
  // Trainable parameters that no gradient reaches: they are not updated, and the optimizer keeps
  // no state for them.
  int64_t parameters_without_gradient = 0;
  Bytes parameter_bytes = Bytes(0);
  Bytes gradient_bytes = Bytes(0);  // of parameters, each in its parameter's type
  std::vector<OptimizerBuffer> optimizer = {};
  Bytes optimizer_bytes = Bytes(0);

  CostSum forward = {};
  CostSum backward = {};  // without accumulation between operations
  // The same, split into gradients of parameters and all others.
  Flops backward_input_flops = {};
  Flops backward_parameter_flops = {};
  CostSum accumulation = {};  // of tensors that receive several gradients
  int64_t accumulation_count = 0;
  CostSum update = {};
};

enum class StorageKind {
  kParameter,
  kOptimizerState,
  kInput,
  kTable,       // an operand of the operation's own: the sines of rotary positions
  kActivation,  // made by an operation's forward pass
  kStatistic,   // made by the forward pass only for the backward pass
  kScratch,     // exists while one operation runs
  kGradient,
  kParameterGradient,
};

// An array in memory; views share it.
struct GraphStorage {
  std::string name;
  StorageKind kind = StorageKind::kActivation;
  Bytes size = Bytes(0);
};

struct SavedBy {
  std::string operation;
  std::string reason;  // "dw = x^T dy reads it"
};

// An array that the forward pass must keep because it is read afterwards.
struct SavedStorage {
  GraphStorage storage;
  std::vector<SavedBy> by;
};

// Lifetimes. The whole step: parameters, optimizer state, inputs and tables. From creation to the
// step's end: arrays that nothing reads, and the gradients of parameters and inputs. Everything
// else: from creation to the last read, and scratch while its operation runs.
struct GraphMemory {
  std::vector<SavedStorage> saved;  // without parameters
  Bytes saved_bytes = Bytes(0);
  Bytes peak_bytes = Bytes(0);
  std::string peak_moment;            // the first of several: "backward of up"
  std::vector<GraphStorage> at_peak;  // adds up to peak_bytes
  CostSum recompute = {};             // of recomputed operations
  int64_t recomputed_operations = 0;
};

struct GraphAnalysis {
  std::vector<GraphTensorRow> tensors;        // given tensors, then made ones, in order
  std::vector<GraphOperationRow> operations;  // in order
  std::vector<std::string> losses;
  GraphTotals totals;
  GraphMemory memory;                             // without checkpointing
  absl::optional<GraphMemory> checkpointed = {};  // where segments are named
};

// Source: reverse accumulation (Linnainmaa 1976; Griewank, Walther, Evaluating Derivatives,
// 2nd ed. 2008, chapter 3) over the kernels of the operations; all rules in
// docs/operation_costs.md, "Graphs".
//
// Errors: kInvalidArgument naming "tensors[1].shape[0]", "operations[3].inputs[0]",
// "operations[3].operation.linear.input_size", "losses[0]" and so on, as many as can be found at
// once.
absl::StatusOr<GraphAnalysis> AnalyzeGraph(const GraphSpec& spec);
// The same, which ends with the error of `work` where the call is to end.
absl::StatusOr<GraphAnalysis> AnalyzeGraph(const GraphSpec& spec, CallWork& work);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_H_
