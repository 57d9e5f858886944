// Graphs of any bytes: no crash, no hang, and what is answered holds together.
//
// An input is lines of words:
//   p w 4x8          a parameter; f frozen, x an input, g one with a gradient, i ids of 8 bytes
//   o h linear x w   an operation: its name and output, its kind, its inputs; =3 gives a size
//   e y h w : i j, j k -> i k          an einsum
//   r v h : (b t) d -> b t d ; b=2     a rearrangement
//   s block          what follows is in this segment; c block checkpoints it
//   l h              a loss; d bf16 the graph's format; t bf16 the next one's own
//   u                recompute stops early; m master weights
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "engine/operation/graph.h"

namespace sextant {
namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

using Words = std::vector<absl::string_view>;

int64_t NumberFrom(absl::string_view text) {
  int64_t number = 0;
  (void)absl::SimpleAtoi(text, &number);  // what is not a number is 0
  return number;
}

DataType TypeFrom(absl::string_view text) {
  return static_cast<DataType>(static_cast<size_t>(NumberFrom(text)) % 16);
}

const std::map<std::string, Operation>& Kinds() {
  static const auto& kinds = *new std::map<std::string, Operation>{
      {"matmul", Matmul{}},
      {"batched", BatchedMatmul{}},
      {"linear", Linear{}},
      {"add", Elementwise{.function = ElementwiseFunction::kAdd}},
      {"multiply", Elementwise{.function = ElementwiseFunction::kMultiply}},
      {"square", Elementwise{.function = ElementwiseFunction::kSquare}},
      {"cast", Elementwise{.flops_per_element = 0}},
      {"sum", Reduction{}},
      {"softmax", Softmax{}},
      {"layernorm", LayerNorm{}},
      {"rmsnorm", RmsNorm{}},
      {"gelu", Activation{.function = ActivationFunction::kGeluErf}},
      {"swiglu", SwiGlu{}},
      {"rotary", Rotary{}},
      {"dropout", Dropout{}},
      {"embedding", EmbeddingLookup{}},
      {"loss", CrossEntropy{}},
      {"attention", Attention{.causal = true}},
      {"unfused", Attention{.fused = false}},
      {"chain",
       FusedChain{.steps = {{ElementwiseFunction::kExp, 0}, {ElementwiseFunction::kAdd, 1}}}},
      {"update", OptimizerUpdate{}},
      {"copy", HostCopy{}}};
  return kinds;
}

struct SetSize {
  int64_t size;

  void operator()(Matmul& op) const { op.m = size; }
  void operator()(Linear& op) const { op.input_size = size; }
  void operator()(Reduction& op) const { op.reduced = size; }
  void operator()(Elementwise& op) const { op.input_count = size; }
  void operator()(Attention& op) const { op.window = size; }
  void operator()(FusedChain& op) const { op.steps[1].extra_input_count = size; }
  template <typename Other>
  void operator()(Other&) const {}
};

class Reader {
 public:
  GraphSpec Read(absl::string_view data) {
    spec_.data_type = DataType::kFp32;
    for (const absl::string_view line : absl::StrSplit(data, '\n')) {
      const Words words = absl::StrSplit(line, ' ', absl::SkipEmpty());
      if (!words.empty() && words[0].size() == 1) ReadLine(words, line);
    }
    return std::move(spec_);
  }

 private:
  void ReadLine(const Words& words, absl::string_view line) {
    const absl::string_view second = words.size() > 1 ? words[1] : "";
    switch (words[0][0]) {
      case 's':
        segment_ = std::string(second);
        return;
      case 'c':
        spec_.checkpointed_segments.emplace_back(second);
        return;
      case 'l':
        spec_.losses.emplace_back(second);
        return;
      case 'd':
        spec_.data_type = TypeFrom(second);
        return;
      case 't':
        type_ = TypeFrom(second);
        return;
      case 'u':
        spec_.extent = RecomputeExtent::kUntilLastNeeded;
        return;
      case 'm':
        spec_.master_weights = true;
        return;
      case 'o':
      case 'e':
      case 'r':
        return AddOperation(words, line);
      default:
        return AddTensor(words);
    }
  }

  DataType TakeType() { return std::exchange(type_, DataType::kUnspecified); }

  void AddTensor(const Words& words) {
    GraphTensor tensor;
    if (words.size() > 1) tensor.name = std::string(words[1]);
    if (words.size() > 2) {
      for (const absl::string_view size : absl::StrSplit(words[2], 'x')) {
        tensor.shape.push_back(NumberFrom(size));
      }
    }
    const char kind = words[0][0];
    tensor.parameter = kind == 'p' || kind == 'f';
    tensor.frozen = kind == 'f';
    tensor.requires_gradient = kind == 'g';
    tensor.index_bytes = kind == 'i' ? 8 : 0;
    tensor.data_type = TakeType();
    spec_.tensors.push_back(std::move(tensor));
  }

  void AddOperation(const Words& words, absl::string_view line) {
    GraphOperation op;
    op.segment = segment_;
    op.output_data_type = TakeType();
    if (words.size() > 1) op.name = std::string(words[1]);
    op.output = op.name;
    const bool plain = words[0][0] == 'o';
    Operation operation;
    if (plain && words.size() > 2) {
      const auto kind = Kinds().find(std::string(words[2]));
      if (kind != Kinds().end()) operation = kind->second;
    }
    for (size_t i = plain ? 3 : 2; i < words.size() && words[i] != ":"; ++i) {
      if (words[i][0] == '=') {
        std::visit(SetSize{NumberFrom(words[i].substr(1))}, operation);
      } else {
        op.inputs.emplace_back(words[i]);
      }
    }
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(line, absl::MaxSplits(" : ", 1));
    op.work = std::move(operation);
    if (words[0][0] == 'e') op.work = Einsum{.expression = std::string(halves.second)};
    if (words[0][0] == 'r') op.work = RearrangementFrom(halves.second);
    spec_.operations.push_back(std::move(op));
  }

  static Rearrangement RearrangementFrom(absl::string_view text) {
    const std::pair<absl::string_view, absl::string_view> halves =
        absl::StrSplit(text, absl::MaxSplits(" ; ", 1));
    Rearrangement out = {.expression = std::string(halves.first)};
    for (const absl::string_view word : absl::StrSplit(halves.second, ' ', absl::SkipEmpty())) {
      const std::pair<absl::string_view, absl::string_view> size = absl::StrSplit(word, '=');
      out.sizes.push_back({std::string(size.first), NumberFrom(size.second)});
    }
    return out;
  }

  GraphSpec spec_;
  std::string segment_;
  DataType type_ = DataType::kUnspecified;
};

void RequireRefusal(const absl::Status& status) {
  Require(status.code() == absl::StatusCode::kInvalidArgument);
  Require(!FieldViolationsOf(status).empty());
  for (const FieldViolation& v : FieldViolationsOf(status)) {
    Require(!v.field.empty() && v.description.size() < 2000);
  }
}

void RequireMemory(const GraphMemory& memory, const GraphTotals& totals) {
  int64_t at_peak = 0;
  int64_t held = 0;
  for (const GraphStorage& storage : memory.at_peak) {
    Require(storage.size.value() >= 0);
    at_peak += storage.size.value();
    if (storage.kind == StorageKind::kParameter) held += storage.size.value();
    if (storage.kind == StorageKind::kOptimizerState) held += storage.size.value();
  }
  Require(at_peak == memory.peak_bytes.value());
  Require(held == (totals.parameter_bytes + totals.optimizer_bytes).value());
  int64_t saved = 0;
  for (const SavedStorage& one : memory.saved) {
    Require(!one.by.empty());
    saved += one.storage.size.value();
  }
  Require(saved == memory.saved_bytes.value());
  Require(memory.recompute.flops() <= totals.forward.flops());
}

// Beyond what is saved without checkpointing, it keeps the inputs of its segments alone.
void RequireCheckpointed(const GraphSpec& spec, const GraphAnalysis& answer) {
  std::map<std::string, Bytes> inputs;
  for (size_t i = 0; i < spec.operations.size(); ++i) {
    if (spec.operations[i].segment.empty()) continue;
    for (const std::string& name : spec.operations[i].inputs) inputs[name] = Bytes(0);
  }
  double most = static_cast<double>(answer.memory.saved_bytes.value());
  for (const GraphTensorRow& row : answer.tensors) {
    if (inputs.count(row.name) > 0) most += static_cast<double>(row.size.value());
  }
  Require(static_cast<double>(answer.checkpointed->saved_bytes.value()) <= most);
  Require(answer.memory.recompute.flops() == Flops(0));
}

void RequireAnswer(const GraphSpec& spec, const GraphAnalysis& answer) {
  double forward = 0;
  double backward = 0;
  for (const GraphOperationRow& row : answer.operations) {
    forward += row.forward.sum.flops().value();
    if (row.backward.has_value()) backward += row.backward->cost.sum.flops().value();
    Require(row.backward.has_value() == !row.gradients.empty());
  }
  const GraphTotals& totals = answer.totals;
  const auto near = [](double a, double b) { return std::abs(a - b) <= 1e-9 * std::abs(a); };
  Require(std::isfinite(forward) && near(forward, totals.forward.flops().value()));
  Require(std::isfinite(backward) && near(backward, totals.backward.flops().value()));
  int64_t additions = 0;
  for (const GraphTensorRow& row : answer.tensors) {
    Require(row.has_gradient == (row.gradient_count > 0));
    additions += row.gradient_count > 1 ? row.gradient_count - 1 : 0;
  }
  Require(additions == totals.accumulation_count);
  RequireMemory(answer.memory, totals);
  Require(answer.checkpointed.has_value() == !spec.checkpointed_segments.empty());
  if (!answer.checkpointed.has_value()) return;
  RequireMemory(*answer.checkpointed, totals);
  RequireCheckpointed(spec, answer);
}

}  // namespace
}  // namespace sextant

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using sextant::GraphSpec;
  const GraphSpec spec = sextant::Reader().Read({reinterpret_cast<const char*>(data), size});
  const auto answer = sextant::AnalyzeGraph(spec);
  if (answer.ok()) {
    sextant::RequireAnswer(spec, *answer);
  } else {
    sextant::RequireRefusal(answer.status());
  }
  return 0;
}
