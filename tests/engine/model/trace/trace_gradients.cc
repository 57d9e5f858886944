#include "tests/engine/model/trace/trace_gradients.h"

#include <algorithm>
#include <iterator>
#include <variant>

#include "absl/strings/match.h"

namespace sextant {
namespace {

using Step = BackwardStep;
using Branch = LayerBranch;

struct NamedStep {
  absl::string_view name;
  Step step;
  int unit = 0;
  int part = 0;
};

// Steps by the names of their operations.
constexpr NamedStep kSteps[] = {
    {"dropout", Step::kDropout},
    {"latent_up", Step::kOutput, -1},
    {"gate_heads", Step::kOutput, 1},
    {"output", Step::kOutput},
    {"combine", Step::kOutput},
    {"sort_by_rank", Step::kOutput},
    {"down", Step::kOutput, 1},
    {"value_gradient", Step::kValues},
    {"softmax_gradient", Step::kValues},
    {"core", Step::kCore},
    {"activation", Step::kCore},
    {"softmax_dropout", Step::kCore, 0, 0},
    {"softmax", Step::kCore, 0, 1},
    {"query_gradient", Step::kCore, 1},
    {"key_gradient", Step::kCore, 1},
    {"value_norm", Step::kHeadNorms, 0, 0},
    {"key_norm", Step::kHeadNorms, 0, 0},
    {"query_norm", Step::kHeadNorms, 0, 1},
    {"query_up", Step::kUp},
    {"key_value_up", Step::kUp},
    {"query_latent_norm", Step::kLatentNorms},
    {"key_value_latent_norm", Step::kLatentNorms},
    {"query_key_value", Step::kInput},
    {"query", Step::kInput},
    {"key_value", Step::kInput},
    {"output_gate", Step::kInput},
    {"query_down", Step::kInput},
    {"key_value_down", Step::kInput},
    {"gate_up", Step::kInput},
    {"up", Step::kInput},
    {"sort_by_expert", Step::kInput, 1},
    {"permute", Step::kInput, 1},
    {"latent_down", Step::kInput, 2},
    {"add_gradient", Step::kBeforeNorm},
};

const CollectiveWork* CollectiveOf(const TraceOp& op) {
  return std::get_if<CollectiveWork>(&op.work);
}

bool IsBackward(const TraceOp& op) {
  return op.pass == TracePass::kInputGradient || op.pass == TracePass::kWeightGradient ||
         (op.pass == TracePass::kRecompute && CollectiveOf(op) != nullptr);
}

bool IsResidualSum(const TraceOp& op) {
  return op.pass == TracePass::kForward && op.module == "residual" && op.name == "add";
}

bool IsFollowed(const TraceOp& op) {
  return op.module == "norm" || std::any_of(std::begin(kSteps), std::end(kSteps),
                                            [&](auto& named) { return named.name == op.name; });
}

bool Reads(const TraceOp& op, int tensor) {
  return std::any_of(op.reads.begin(), op.reads.end(),
                     [=](const TraceOperand& o) { return !o.gradient && o.tensor == tensor; });
}

}  // namespace

TraceGradients::TraceGradients(const Trace& trace, double compute_bytes, double gradient_bytes)
    : trace_(trace), compute_bytes_(compute_bytes), gradient_bytes_(gradient_bytes) {
  hidden_bytes_ = static_cast<double>(trace_.tensors[0].elements) * compute_bytes_;
  FindResidual();
  FindProducts();
  Sort();
  Walk();
}

void TraceGradients::FindResidual() {
  int last = 0;
  for (const TraceOp& op : trace_.ops) {
    if (op.pass != TracePass::kForward) continue;
    if (IsResidualSum(op)) {
      residuals_.insert((op.reads.begin() + 1)->tensor);
      last = op.writes.begin()->tensor;
    } else if (op.module == "norm" && absl::StartsWith(op.name, "after_")) {
      last = op.writes.begin()->tensor;
    }
  }
  residuals_.insert(last);
}

void TraceGradients::FindProducts() {
  for (const TraceTensor& tensor : trace_.tensors) {
    if (tensor.kept_elsewhere) {
      encoder_bytes_ = static_cast<double>(tensor.elements) * compute_bytes_;
      break;
    }
  }
  for (const TraceOp& op : trace_.ops) {
    has_experts_ = has_experts_ || op.module == "experts";
    if (op.name == "adapter_down") adapter_tensors_.insert(op.writes.begin()->tensor);
    if (op.pass != TracePass::kInputGradient || !IsFollowed(op)) continue;
    for (const TraceOperand& operand : op.writes) written_.insert(operand.tensor);
    if (op.name == "key_value_latent_norm") {
      const auto elements = [&](uint8_t tensor) {
        return static_cast<double>(trace_.tensors[tensor].elements);
      };
      const double input = elements(op.writes.begin()->tensor);
      rotary_bytes_ = (input - elements((op.reads.begin() + 1)->tensor)) * compute_bytes_;
    }
    if (!std::holds_alternative<MatmulWork>(op.work)) continue;
    for (const NamedStep& named : kSteps) {
      if (named.name != op.name) continue;
      product_steps_[{op.module, op.writes.begin()->tensor}] = named.step;
    }
  }
}

LayerBranch TraceGradients::BranchOf(const TraceOp& op) const {
  if (op.module == "attention" || absl::EndsWith(op.name, "_attention")) {
    return absl::EndsWith(op.name, "cross_attention") ? Branch::kCrossAttention
                                                      : Branch::kAttention;
  }
  if (op.module == "cross_attention") return Branch::kCrossAttention;
  return Branch::kFeedForward;
}

LayerBranch TraceGradients::BranchNear(size_t op, int step) const {
  size_t at = op;
  while (trace_.ops[at].module == "residual") at += static_cast<size_t>(step);
  return BranchOf(trace_.ops[at]);
}

// A collective belongs to the product that reads what it gathers, or makes what it sums.
std::optional<TraceGradients::Place> TraceGradients::PlaceOfCollective(const TraceOp& op,
                                                                       BackwardPosition at) const {
  const int unit = op.module == "experts" ? 1 : 0;
  if (op.name == "gather_output_gradient") {
    if (adapter_tensors_.count(op.reads.begin()->tensor) > 0) return std::nullopt;
    at.step = Step::kOutput;
    return Place{at, 0, unit};
  }
  const bool gathers = op.name == "gather_input";
  if (!gathers && op.name != "sum_input_gradient") return std::nullopt;
  const int tensor = (gathers ? op.reads : op.writes).begin()->tensor;
  if (trace_.tensors[static_cast<size_t>(tensor)].kept_elsewhere) return std::nullopt;
  const auto found = product_steps_.find({op.module, tensor});
  if (found == product_steps_.end()) return std::nullopt;
  at.step = found->second;
  return Place{at};
}

std::optional<TraceGradients::Place> TraceGradients::PlaceOf(size_t index) {
  const TraceOp& op = trace_.ops[index];
  BackwardPosition at = {.branch = BranchOf(op)};
  const bool feeds = at.branch == Branch::kFeedForward;
  const int shared = op.module == "shared_experts" ? 1 : 0;
  if (shared == 1 || (op.module == "feed_forward" && has_experts_)) {
    at.branch = Branch::kWithExperts;
  }
  if (op.module == "norm") {
    const bool after = absl::StartsWith(op.name, "after_");
    at.step = after ? Step::kAfterNorm : Step::kBeforeNorm;
    if (after && feeds) at.branch = Branch::kWithExperts;
    return Place{at};
  }
  if (op.module == "residual") {
    at.branch = BranchNear(index, op.name == "dropout" ? 1 : -1);
    if (op.name == "dropout" && at.branch == Branch::kFeedForward) {
      at.branch = Branch::kWithExperts;
    }
  }
  if (CollectiveOf(op) != nullptr) {
    std::optional<Place> place = PlaceOfCollective(op, at);
    if (place.has_value()) place->beside = shared;
    return place;
  }
  for (const NamedStep& named : kSteps) {
    if (named.name != op.name) continue;
    at.step = named.step;
    const bool experts = op.module == "experts" || named.name != "down";
    return Place{at, shared, experts ? named.unit : 0, named.part};
  }
  return std::nullopt;
}

// The gradients whose sum or parts an operation reads as that of `tensor`.
TraceGradients::Gradients TraceGradients::ReadWhereMade(int tensor) {
  if (residuals_.count(tensor) > 0) return {kResidual};
  if (written_.count(tensor) > 0) return {tensor};
  const TraceOp* assembly = nullptr;
  for (const TraceOp& op : trace_.ops) {
    if (op.pass != TracePass::kForward) continue;
    if (op.name == "assemble_key") assembly = &op;
    if (op.name != "add" && op.name != "copy_heads") continue;
    const int sum = op.writes.begin()->tensor;
    if (Reads(op, tensor) && sum != tensor) return ReadWhereMade(sum);
  }
  ++unwritten_;
  if (assembly == nullptr) return {};
  // Keys and values share one gradient.
  --unwritten_;
  Gradients out;
  for (const TraceOperand& operand : assembly->writes) out.insert(operand.tensor);
  return out;
}

TraceGradients::Gradient TraceGradients::Written(const TraceOperand& operand) const {
  if (trace_.tensors[operand.tensor].kept_elsewhere) return kEncoder;
  return residuals_.count(operand.tensor) > 0 ? kBranchStart : operand.tensor;
}

void TraceGradients::AddAccesses(const TraceOp& op, Group& group) {
  Gradients reads;
  for (const TraceOperand& operand : op.reads) {
    if (operand.gradient) reads.merge(ReadWhereMade(operand.tensor));
  }
  const bool adds = op.name == "add_gradient";  // the branch's to the residual's, in place
  if (adds) reads = {kResidual, kBranchStart};
  for (const Gradient gradient : reads) {
    const auto [entry, is_first] = group.accesses.try_emplace(gradient);
    entry->second.read_first = entry->second.read_first || is_first;
    entry->second.written_last = false;
  }
  if (adds) return;
  for (const TraceOperand& operand : op.writes) {
    Access& access = group.accesses[Written(operand)];
    access.written = access.written_last = true;
  }
}

void TraceGradients::Sort() {
  for (size_t i = 0; i < trace_.ops.size(); ++i) {
    const TraceOp& op = trace_.ops[i];
    if (!IsBackward(op)) continue;
    const std::optional<Place> place = PlaceOf(i);
    if (!place.has_value()) continue;
    auto [entry, is_new] = sorted_.try_emplace(place->key());
    Group& group = entry->second;
    group.place = *place;
    group.only_adds = (is_new || group.only_adds) && op.name == "add_gradient";
    group.ops.push_back(&op);
    if (CollectiveOf(op) != nullptr) continue;
    AddAccesses(op, group);
  }
  for (const auto& [key, group] : sorted_) groups_.push_back(group);
}

double TraceGradients::BytesOf(Gradient gradient) const {
  if (gradient == kResidual || gradient == kBranchStart) return hidden_bytes_;
  if (gradient == kEncoder) return encoder_bytes_;
  return static_cast<double>(trace_.tensors[static_cast<size_t>(gradient)].elements) *
         compute_bytes_;
}

// Source: docs/memory_transients.md, "A layer's backward pass".
double TraceGradients::WorkspaceOf(const TraceOp& op) const {
  constexpr double kFp32Bytes = 4;
  const auto* attention = std::get_if<AttentionWork>(&op.work);
  if (attention == nullptr || op.reads.begin() == op.reads.end()) return 0;
  const auto tensor = [&](int i) { return trace_.tensors[(op.reads.begin() + i)->tensor]; };
  double bytes = static_cast<double>(tensor(0).elements) * kFp32Bytes + tensor(4).bytes();
  if (attention->key_value_heads < attention->heads) {
    const auto groups = static_cast<double>(attention->heads / attention->key_value_heads);
    bytes += (tensor(1).bytes() + tensor(2).bytes()) * groups;
  }
  return bytes;
}

// The bytes of a step's operations that are not gradients of the trace.
double TraceGradients::Beside(const Group& group) const {
  double bytes = 0;
  for (const TraceOp* op : group.ops) {
    if (op->pass == TracePass::kWeightGradient) bytes += op->gradient_elements * gradient_bytes_;
    if (op->name == "core") bytes += WorkspaceOf(*op);
    const CollectiveWork* collective = CollectiveOf(*op);
    if (collective != nullptr && collective->kind != CollectiveKind::kAllReduce) {
      bytes += collective->bytes;
    }
  }
  const Step step = group.place.at.step;
  return step == Step::kUp || step == Step::kLatentNorms ? bytes + rotary_bytes_ : bytes;
}

// A gradient that was read lives on if it is read again before it is written; one that was written
// waits for the next that reads it or adds to it.
bool TraceGradients::LivesAfter(size_t group, Gradient gradient) const {
  const bool written = groups_[group].accesses.at(gradient).written_last;
  for (size_t next = group + 1; next < groups_.size(); ++next) {
    const auto found = groups_[next].accesses.find(gradient);
    if (found != groups_[next].accesses.end()) return written || found->second.read_first;
  }
  return false;
}

void TraceGradients::Walk() {
  Gradients live;
  std::map<std::array<int, 4>, std::pair<size_t, double>> steps;
  for (size_t i = 0; i < groups_.size(); ++i) {
    const Group& group = groups_[i];
    // Parallel branches add once, at the start of both.
    if (group.only_adds && live.count(kBranchStart) == 0) continue;
    Gradients there = live;
    there.insert(kResidual);
    if (encoder_bytes_ > 0) there.insert(kEncoder);
    double bytes = Beside(group);
    for (const auto& [gradient, access] : group.accesses) {
      there.insert(gradient);
      if (access.written && live.count(gradient) > 0) bytes += BytesOf(gradient);
    }
    for (const Gradient gradient : there) bytes += BytesOf(gradient);
    const std::array<int, 5> key = group.place.key();
    auto& step = steps[{key[0], key[1], key[2], key[3]}];
    step = {group.place.at.index(), std::max(step.second, bytes)};
    for (const auto& [gradient, access] : group.accesses) {
      live.erase(gradient);
      if (LivesAfter(i, gradient)) live.insert(gradient);
    }
  }
  for (const auto& [key, step] : steps) bytes_[step.first].push_back(step.second);
}

}  // namespace sextant
