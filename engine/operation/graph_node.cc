// One node of a graph: its kernels on the graph's tensors.
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "engine/operation/graph_nodes.h"
#include "engine/operation/op_kernels_parts.h"
#include "engine/tensor/expression/axis_transform.h"
#include "engine/tensor/number_format.h"
#include "engine/tensor/strided_tensor.h"

namespace sextant {
namespace {

constexpr absl::string_view kRearrange = "rearrange";

// Maps the names of the kernels' arrays to the graph's tensors.
class Binding {
 public:
  void Add(const Array& in_kernels, const Array& in_graph) {
    arrays_.emplace(in_kernels.name, Pair{in_kernels.shape, in_graph});
    arrays_.emplace(GradientOf(in_kernels).name, Pair{in_kernels.shape, in_graph});
  }

  void Apply(OpKernels& kernels) const {
    for (Array& array : kernels.operands) Apply(array);
    for (Array& array : kernels.outputs) Apply(array);
    for (std::vector<Step>* steps : {&kernels.forward, &kernels.backward}) {
      for (Step& step : *steps) {
        for (Movement& m : step.movements) Apply(m.array);
      }
    }
    kernels.unfused.clear();
  }

 private:
  struct Pair {
    Shape whole;
    Array in_graph;
  };

  // A kernel that reads only a part of a tensor keeps that part's shape.
  void Apply(Array& array) const {
    const auto found = arrays_.find(array.name);
    if (found == arrays_.end() || array.role == ArrayRole::kStatistic) return;
    const auto& [whole, in_graph] = found->second;
    array.data_type = in_graph.data_type;
    array.index_bytes = in_graph.index_bytes;
    if (array.shape == whole) array.shape = in_graph.shape;
    if (array.role == ArrayRole::kInput || array.role == ArrayRole::kParameter) {
      array.role = in_graph.role;
    }
  }

  absl::flat_hash_map<std::string, Pair> arrays_;
};

// True where the result keeps the operands' memory layout; else it is row-major.
bool KeepsLayout(const Operation& operation) {
  return std::holds_alternative<Elementwise>(operation) ||
         std::holds_alternative<FusedChain>(operation) ||
         std::holds_alternative<Activation>(operation) ||
         std::holds_alternative<Dropout>(operation);
}

class Builder {
 public:
  Builder(const NodeRequest& request, absl::string_view path, FieldViolations& violations)
      : r_(request), path_(path), violations_(violations) {
    built_.node.row.name = r_.operation.name;
    built_.node.output = r_.output;
    built_.value.root = r_.output;
    built_.value.row.name = r_.operation.output;
    built_.value.row.array.name = r_.operation.output;
  }

  bool Build(const Operation& operation) {
    const auto sized = SizeOperation(operation, Inputs(), path_, violations_);
    if (!sized.has_value() || !FindTypes()) return false;
    GraphNode& node = built_.node;
    node.row.kind = OperationName(operation);
    node.row.operation = sized->operation;
    node.kernels = OpKernelsOf(sized->operation, {node.row.types, r_.convention});
    node.operands.assign(node.kernels.operands.size(), kNoIndex);
    for (size_t i = 0; i < r_.inputs.size(); ++i) node.operands[sized->operands[i]] = r_.inputs[i];
    Array& made = built_.value.row.array;
    made.data_type = node.row.types.output;
    made.shape =
        std::holds_alternative<Einsum>(operation) ? node.kernels.outputs[0].shape : sized->shape;
    FieldViolations wrong;
    CheckShape(made.shape, FieldPath(path_, "output"), wrong);
    violations_.AddAll(wrong.ToStatus());
    if (!wrong.empty()) return false;
    built_.value.layout = ContiguousTensor(made.shape, made.data_type);
    if (KeepsLayout(operation)) {
      built_.value.layout.strides = ElementwiseStrides(made.shape, Layouts());
    }
    return Finish();
  }

  BuiltNode Take() { return std::move(built_); }

  // A copy is a kernel of its own, and so is its gradient.
  bool Build(const Rearrangement& work) {
    if (r_.inputs.size() != 1) {
      violations_.Add(FieldPath(path_, "inputs"),
                      absl::StrCat("are ", r_.inputs.size(), ", but it reads one tensor"));
      return false;
    }
    if (r_.operation.output_data_type != DataType::kUnspecified) {
      violations_.Add(FieldPath(path_, "output_data_type"),
                      "must not be given: a rearrangement keeps its input's format");
      return false;
    }
    const GraphValue& input = r_.values[r_.inputs[0]];
    const auto done = Rearrange(input.layout, work.expression, work.sizes);
    if (!done.ok()) {
      AddRearrangementFaults(done.status());
      return false;
    }
    GraphNode& node = built_.node;
    node.row.kind = kRearrange;
    node.row.note = done->reason;
    node.row.types = WithDefaults({.input = input.row.array.data_type});
    node.operands = {r_.inputs[0]};
    GraphValue& value = built_.value;
    Array& made = value.row.array;
    made.data_type = input.row.array.data_type;
    made.index_bytes = input.row.array.index_bytes;
    made.shape = done->tensor.shape;
    value.layout = done->tensor;
    if (done->is_view) value.root = input.root;
    node.kernels = CopyKernels(input.row.array, made, done->is_view);
    return Finish();
  }

 private:
  std::vector<OperationInput> Inputs() const {
    std::vector<OperationInput> inputs;
    for (const size_t i : r_.inputs) {
      const Array& array = r_.values[i].row.array;
      inputs.push_back({array.name, array.shape, array.index_bytes > 0});
    }
    return inputs;
  }

  std::vector<StridedTensor> Layouts() const {
    std::vector<StridedTensor> layouts;
    for (const size_t i : r_.inputs) layouts.push_back(r_.values[i].layout);
    return layouts;
  }

  bool FindTypes() {
    OperationTypes types = {.output = r_.operation.output_data_type};
    for (const size_t i : r_.inputs) {
      if (types.input == DataType::kUnspecified) types.input = r_.values[i].row.array.data_type;
    }
    if (types.input == DataType::kUnspecified) {
      violations_.Add(FieldPath(path_, "inputs"), "hold no numbers: all have index_bytes");
      return false;
    }
    built_.node.row.types = WithDefaults(types);
    return true;
  }

  void AddRearrangementFaults(const absl::Status& status) {
    for (const FieldViolation& v : FieldViolationsOf(status)) {
      const bool of_tensor = v.field == "tensor";
      violations_.Add(
          FieldPath(path_, of_tensor ? std::string("inputs[0]") : FieldPath(kRearrange, v.field)),
          v.description);
    }
  }

  static OpKernels CopyKernels(const Array& from, const Array& to, bool is_view) {
    OpKernels kernels;
    kernels.operands = {from};
    kernels.operands[0].name = std::string("x");
    kernels.outputs = {to};
    kernels.outputs[0].name = std::string("y");
    kernels.outputs[0].role = ArrayRole::kOutput;
    kernels.differentiable = OperandBit(0);
    if (is_view) return kernels;
    const Array& x = kernels.operands[0];
    const Array& y = kernels.outputs[0];
    kernels.forward = {{.name = "copy", .arithmetic = {}, .movements = {Read(x), Write(y)}}};
    kernels.backward = {{.name = "dx = dy, copied back",
                         .arithmetic = {},
                         .movements = {Read(GradientOf(y)), Write(GradientOf(x))}}};
    return kernels;
  }

  // A gradient that is passed on needs a cast where its tensor has another format.
  void AddCasts() {
    OpKernels& kernels = built_.node.kernels;
    const Array& y = kernels.outputs[0];
    for (size_t k = 0; k < kernels.operands.size(); ++k) {
      const Array& x = kernels.operands[k];
      const OperandSet bit = OperandBit(k);
      if ((kernels.differentiable & bit) == 0 || x.data_type == y.data_type) continue;
      if (WritesGradientOf(kernels, k)) continue;
      kernels.backward.push_back(
          {.name = absl::StrCat("d", x.name, " = dy in its format"),
           .arithmetic = {},
           .movements = {Read(GradientOf(y), bit), Write(GradientOf(x), bit)}});
    }
  }

  // Binds the kernels' arrays to the graph's, and sums up the cost.
  bool Finish() {
    GraphNode& node = built_.node;
    GraphValue& value = built_.value;
    GraphTensorRow& made = value.row;
    Binding binding;
    for (size_t k = 0; k < node.operands.size(); ++k) {
      if (node.operands[k] == kNoIndex) continue;
      binding.Add(node.kernels.operands[k], r_.values[node.operands[k]].row.array);
    }
    binding.Add(node.kernels.outputs[0], made.array);
    binding.Apply(node.kernels);
    AddCasts();
    const auto size = BytesOf(made.array);
    const auto forward = CostOf(node.kernels.forward, kEveryOperand);
    AddBelow(size.status(), FieldPath(path_, "output"), violations_);
    AddBelow(forward.status(), path_, violations_);
    if (!size.ok() || !forward.ok()) return false;
    made.size = *size;
    made.elements = ElementCount(made.array.shape).value_or(0);
    if (value.root != r_.output) {
      const GraphTensorRow& viewed = r_.values[value.root].row;
      made.view_of = viewed.name;
      made.array.role = viewed.array.role;  // a view of a parameter is in memory anyway, too
    }
    node.row.forward = *forward;
    return true;
  }

  const NodeRequest& r_;
  absl::string_view path_;
  FieldViolations& violations_;
  BuiltNode built_;
};

}  // namespace

bool CanHaveGradient(const Array& array) {
  if (array.index_bytes > 0) return false;
  const auto format = FindNumberFormat(array.data_type);
  return format.ok() && (*format)->kind != NumberKind::kInteger;
}

bool WritesGradientOf(const OpKernels& kernels, size_t operand) {
  const std::string name = GradientOf(kernels.operands[operand]).name;
  for (const Step& step : kernels.backward) {
    for (const Movement& m : step.movements) {
      if (m.written && m.array.name == name) return true;
    }
  }
  return false;
}

absl::optional<BuiltNode> BuildNode(const NodeRequest& request, absl::string_view path,
                                    FieldViolations& violations) {
  Builder builder(request, path, violations);
  if (!std::visit([&builder](const auto& work) { return builder.Build(work); },
                  request.operation.work)) {
    return absl::nullopt;
  }
  return builder.Take();
}

}  // namespace sextant
