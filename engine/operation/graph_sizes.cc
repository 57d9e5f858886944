// The sizes of an operation, derived from the tensors that it reads.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/operation/graph_nodes.h"

namespace sextant {
namespace {

// One overload per operation: fills in its sizes and returns the output's shape.
class Sizes {
 public:
  Sizes(absl::Span<const OperationInput> inputs, absl::string_view path, absl::string_view name,
        FieldViolations& violations)
      : inputs_(inputs), path_(path), own_path_(FieldPath(path, name)), violations_(violations) {}

  bool failed() const { return failed_; }
  // The kernels' operand for input i.
  size_t OperandOf(size_t i) const { return swapped_ ? 1 - i : i; }

  Shape operator()(Matmul& op) {
    if (!Take(2, 2, "a and b") || !Numbers() || !Axes(0, 1) || !Fits(1, {Last(0), kAny})) return {};
    Set("m", op.m, Rows(0, 1), 0);
    Set("k", op.k, Last(0), 0);
    Set("n", op.n, Last(1), 1);
    return Replaced(0, 1, {op.n});
  }

  Shape operator()(BatchedMatmul& op) {
    if (!Take(2, 2, "a and b") || !Numbers() || !Axes(0, 3)) return {};
    Shape b = Replaced(0, 2, {Last(0), kAny});
    if (!Fits(1, b)) return {};
    Set("batch", op.batch, Rows(0, 2), 0);
    Set("m", op.m, FromEnd(0, 2), 0);
    Set("k", op.k, Last(0), 0);
    Set("n", op.n, Last(1), 1);
    return Replaced(0, 1, {op.n});
  }

  Shape operator()(Linear& op) {
    if (!Take(2, 3, "x, w and, if there is one, the bias") || !Numbers() || !Axes(0, 1) ||
        !Fits(1, {Last(0), kAny})) {
      return {};
    }
    if (inputs_.size() == 2 && op.bias) {
      Fail(own_path_, "bias", "is on, but there is no third input to be the bias");
      return {};
    }
    op.bias = inputs_.size() == 3;
    if (op.bias && !Fits(2, {Last(1)})) return {};
    Set("rows", op.rows, Rows(0, 1), 0);
    Set("input_size", op.input_size, Last(0), 0);
    Set("output_size", op.output_size, Last(1), 1);
    return Replaced(0, 1, {op.output_size});
  }

  // input_count defaults to 1, so 1 may mean not given; larger counts must agree.
  Shape operator()(Elementwise& op) {
    if (!Take(1, kMaxOperands, "its arrays") || !Alike()) return {};
    const auto count = static_cast<int64_t>(inputs_.size());
    if (op.input_count == 1) op.input_count = 0;
    if (Agrees("input_count", op.input_count, count)) op.input_count = count;
    Set("count", op.count, Rows(0, 0), 0);
    return ShapeOf(0);
  }

  Shape operator()(FusedChain& op) {
    int64_t needs = 1;
    for (const ChainStep& step : op.steps) {
      if (step.extra_input_count < 0 || step.extra_input_count > kMaxOperands) continue;
      needs = std::min<int64_t>(needs + step.extra_input_count, kMaxOperands);
    }
    const auto count = static_cast<size_t>(needs);
    if (!Take(count, count, "x, then the extra inputs of its steps") || !Alike()) return {};
    Set("count", op.count, Rows(0, 0), 0);
    return ShapeOf(0);
  }

  Shape operator()(Reduction& op) {
    if (!Take(1, 1, "x") || !Numbers() || !Axes(0, 1)) return {};
    Set("outer", op.outer, Rows(0, 1), 0);
    Set("reduced", op.reduced, Last(0), 0);
    return Replaced(0, 1, {});
  }

  Shape operator()(Softmax& op) {
    if (!Take(1, 1, "x")) return {};
    return RowFunction(op.rows, op.columns, 0);
  }
  Shape operator()(LayerNorm& op) {
    if (!Take(3, 3, "x, the weight and the bias")) return {};
    return RowFunction(op.rows, op.columns, 2);
  }
  Shape operator()(RmsNorm& op) {
    if (!Take(2, 2, "x and the weight")) return {};
    return RowFunction(op.rows, op.columns, 1);
  }
  Shape operator()(SwiGlu& op) {
    if (!Take(2, 2, "gate and up") || !Alike()) return {};
    return RowFunction(op.rows, op.columns, 0);
  }

  Shape operator()(Activation& op) { return EachElement(op.count); }
  Shape operator()(Dropout& op) { return EachElement(op.count); }

  // Tables may be shared across leading axes of x: [tokens, head_size / 2] for x [batch, tokens,
  // heads, head_size].
  Shape operator()(Rotary& op) {
    if ((inputs_.size() != 1 && !Take(3, 3, "x, or x, cosines and sines")) || !Numbers() ||
        !Axes(0, 3)) {
      return {};
    }
    for (size_t i = 1; i < inputs_.size(); ++i) {
      Shape table = Replaced(0, 2, {Last(0) / 2});
      const size_t axes = std::clamp<size_t>(inputs_[i].shape.size(), 2, table.size());
      table.erase(table.begin(), table.end() - static_cast<ptrdiff_t>(axes));
      if (!Fits(i, table)) return {};
    }
    Set("tokens", op.tokens, Rows(0, 2), 0);
    Set("heads", op.heads, FromEnd(0, 2), 0);
    Set("head_size", op.head_size, Last(0), 0);
    return ShapeOf(0);
  }

  Shape operator()(EmbeddingLookup& op) {
    swapped_ = true;
    if (!Take(2, 2, "ids and the table") || !Ids(0) || !Numbers(1) || !Fits(1, {kAny, kAny})) {
      return {};
    }
    Set("tokens", op.tokens, Rows(0, 0), 0);
    Set("vocabulary", op.vocabulary, FromEnd(1, 2), 1);
    Set("width", op.width, Last(1), 1);
    return Replaced(0, 0, {op.width});
  }

  Shape operator()(CrossEntropy& op) {
    if (!Take(2, 2, "logits and targets") || !Numbers(0) || !Ids(1) || !Axes(0, 1) ||
        !Fits(1, Replaced(0, 1, {}))) {
      return {};
    }
    Set("tokens", op.tokens, Rows(0, 1), 0);
    Set("vocabulary", op.vocabulary, Last(0), 0);
    return {};
  }

  Shape operator()(Attention& op) {
    if (!Take(3, 3, "q, k and v") || !Numbers() || !Fits(0, {kAny, kAny, kAny, kAny}) ||
        !Fits(1, {inputs_[0].shape[0], kAny, kAny, Last(0)}) || !Fits(2, Replaced(1, 1, {kAny}))) {
      return {};
    }
    Set("batch", op.batch, inputs_[0].shape[0], 0);
    Set("heads", op.heads, inputs_[0].shape[1], 0);
    Set("query_length", op.query_length, inputs_[0].shape[2], 0);
    Set("head_size", op.head_size, Last(0), 0);
    Set("kv_heads", op.kv_heads, inputs_[1].shape[1], 1);
    Set("key_length", op.key_length, inputs_[1].shape[2], 1);
    Set("value_head_size", op.value_head_size, Last(2), 2);
    return Replaced(0, 1, {op.value_head_size});
  }

  // CheckOperation() reports operands that don't fit the expression; the kernels give the shape.
  Shape operator()(Einsum& op) {
    if (!Take(1, kMaxOperands, "its operands") || !Numbers()) return {};
    if (!op.operands.empty() && op.operands.size() != inputs_.size()) {
      Fail(own_path_, "operands",
           absl::StrCat("are ", op.operands.size(), ", but ", inputs_.size(), " inputs"));
      return {};
    }
    for (size_t i = 0; i < op.operands.size(); ++i) {
      if (op.operands[i] == ShapeOf(i)) continue;
      Fail(own_path_, absl::StrCat("operands[", i, "]"),
           absl::StrCat("is ", ShapeText(op.operands[i]), ", but ", Text(i)));
    }
    op.operands.clear();
    for (size_t i = 0; i < inputs_.size(); ++i) op.operands.push_back(ShapeOf(i));
    return {};
  }

  Shape operator()(Experts&) {
    return Refused(
        "does not follow from tensors, which don't say how tokens spread over experts: write each "
        "matrix as a batched_matmul of [experts, rows, ...] by [experts, ...]");
  }
  Shape operator()(OptimizerUpdate&) {
    return Refused("a graph's update is its own: name its rule in the graph");
  }
  Shape operator()(HostCopy&) { return Refused("a graph stays on its device: leave the copy out"); }

 private:
  static constexpr int64_t kAny = -1;

  void Fail(absl::string_view path, absl::string_view name, absl::string_view description) {
    violations_.Add(FieldPath(path, name), description);
    failed_ = true;
  }
  bool FailInput(size_t i, absl::string_view description) {
    Fail(path_, absl::StrCat("inputs[", i, "]"), description);
    return false;
  }
  Shape Refused(absl::string_view why) {
    violations_.Add(own_path_, why);
    failed_ = true;
    return {};
  }

  // Returns "inputs[0] 'x' is [3, 4]".
  std::string Text(size_t i) const {
    return absl::StrCat("inputs[", i, "] '", inputs_[i].name, "' is ", ShapeText(inputs_[i].shape));
  }
  Shape ShapeOf(size_t i) const { return Shape(inputs_[i].shape.begin(), inputs_[i].shape.end()); }
  int64_t FromEnd(size_t i, size_t back) const {
    return inputs_[i].shape[inputs_[i].shape.size() - back];
  }
  int64_t Last(size_t i) const { return FromEnd(i, 1); }
  // The product of all axes of input i except the last `without`.
  int64_t Rows(size_t i, size_t without) const {
    return *ElementCount(inputs_[i].shape.first(inputs_[i].shape.size() - without));
  }
  // Input i's shape with its last `without` axes replaced by `tail`.
  Shape Replaced(size_t i, size_t without, const Shape& tail) const {
    const auto kept = inputs_[i].shape.first(inputs_[i].shape.size() - without);
    Shape out(kept.begin(), kept.end());
    out.insert(out.end(), tail.begin(), tail.end());
    return out;
  }

  bool Take(size_t least, size_t most, absl::string_view what) {
    if (inputs_.size() >= least && inputs_.size() <= most) return true;
    Fail(path_, "inputs", absl::StrCat("are ", inputs_.size(), ", but it reads ", what));
    return false;
  }
  bool Numbers(size_t i) {
    return !inputs_[i].is_index || FailInput(i, absl::StrCat("'", inputs_[i].name,
                                                             "' has index_bytes: numbers are "
                                                             "wanted, not ids or a mask"));
  }
  bool Numbers() {
    bool all = true;
    for (size_t i = 0; i < inputs_.size(); ++i) all = Numbers(i) && all;
    return all;
  }
  bool Ids(size_t i) {
    return inputs_[i].is_index || FailInput(i, absl::StrCat("'", inputs_[i].name,
                                                            "' holds numbers: ids are wanted, "
                                                            "a tensor with index_bytes"));
  }
  bool Axes(size_t i, size_t least) {
    return inputs_[i].shape.size() >= least ||
           FailInput(i, absl::StrCat("'", inputs_[i].name, "' is ", ShapeText(inputs_[i].shape),
                                     ": at least ", least, " axes are wanted"));
  }
  // True where input i has `shape`, in which kAny matches any size.
  bool Fits(size_t i, const Shape& shape) {
    const auto same = [](int64_t wanted, int64_t size) { return wanted == kAny || wanted == size; };
    const auto& has = inputs_[i].shape;
    if (std::equal(shape.begin(), shape.end(), has.begin(), has.end(), same)) return true;
    std::string wanted;
    for (const int64_t size : shape) {
      absl::StrAppend(&wanted, wanted.empty() ? "" : ", ");
      size == kAny ? absl::StrAppend(&wanted, "any") : absl::StrAppend(&wanted, size);
    }
    return FailInput(i,
                     absl::StrCat("'", inputs_[i].name, "' is ", ShapeText(has), ", but [", wanted,
                                  "] is wanted", i == 0 ? "" : " next to ", i == 0 ? "" : Text(0)));
  }
  bool Alike() {
    for (size_t i = 1; i < inputs_.size(); ++i) {
      if (inputs_[i].shape == inputs_[0].shape) continue;
      return FailInput(
          i, absl::StrCat("'", inputs_[i].name, "' is ", ShapeText(inputs_[i].shape), ", but ",
                          Text(0), ": nothing broadcasts here; use linear's bias, or einsum"));
    }
    return true;
  }

  bool Agrees(absl::string_view name, int64_t given, int64_t derived) {
    if (given == 0 || given == derived) return true;
    Fail(own_path_, name, absl::StrCat("is ", given, ", but its inputs say ", derived));
    return false;
  }
  // Fills in `field` from input i, or checks it.
  void Set(absl::string_view name, int64_t& field, int64_t derived, size_t i) {
    if (field == 0) field = derived;
    if (field == derived) return;
    Fail(own_path_, name,
         absl::StrCat("is ", field, ", but ", Text(i), ", which makes it ", derived,
                      ": leave it 0 or make them agree"));
  }

  Shape EachElement(int64_t& count) {
    if (!Take(1, 1, "x") || !Numbers()) return {};
    Set("count", count, Rows(0, 0), 0);
    return ShapeOf(0);
  }
  // A function along the last axis, with `vectors` further inputs of that length.
  Shape RowFunction(int64_t& rows, int64_t& columns, size_t vectors) {
    if (!Numbers() || !Axes(0, 1)) return {};
    for (size_t i = 1; i <= vectors; ++i) {
      if (!Fits(i, {Last(0)})) return {};
    }
    Set("rows", rows, Rows(0, 1), 0);
    Set("columns", columns, Last(0), 0);
    return ShapeOf(0);
  }

  const absl::Span<const OperationInput> inputs_;
  const absl::string_view path_;
  const std::string own_path_;
  FieldViolations& violations_;
  bool failed_ = false;
  bool swapped_ = false;  // the kernels' first operand is the second input
};

}  // namespace

absl::optional<SizedOperation> SizeOperation(const Operation& operation,
                                             absl::Span<const OperationInput> inputs,
                                             absl::string_view path, FieldViolations& violations) {
  SizedOperation out = {.operation = operation, .operands = {}, .shape = {}};
  const std::string name = absl::StrCat("operation.", OperationName(operation));
  Sizes sizes(inputs, path, name, violations);
  out.shape = std::visit([&sizes](auto& op) { return sizes(op); }, out.operation);
  if (sizes.failed()) return absl::nullopt;
  FieldViolations wrong;
  CheckOperation(out.operation, FieldPath(path, name), wrong);
  violations.AddAll(wrong.ToStatus());
  if (!wrong.empty()) return absl::nullopt;
  for (size_t i = 0; i < inputs.size(); ++i) out.operands.push_back(sizes.OperandOf(i));
  return out;
}

}  // namespace sextant
