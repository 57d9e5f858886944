#include <cmath>
#include <cstdint>
#include <limits>

#include "engine/memory/activations/layer_rows.h"
#include "engine/memory/activations/sources.h"

namespace sextant {
namespace {

using Cut = ActivationCut;
using Kind = ElementKind;
namespace source = activation_source;

// A feed-forward's inner features on this GPU, a row.
struct InnerRows {
  FeedForwardKind kind;
  absl::string_view shape;
  Cut cut;
  int64_t width;
};

// Source: Korthikanti et al. 2022 (arXiv 2205.05198) section 4.1 for the ungated one: the
// activation function's input and output. Gated: d(a(g) u) asks for both g and u, and the matrix
// behind it for their product.
void AddInnerRows(const InnerRows& inner, ActivationList& out) {
  const bool gated = inner.kind == FeedForwardKind::kGated;
  ActivationRow row = {.name = "gate",
                       .shape = inner.shape,
                       .cut = inner.cut,
                       .width = inner.width,
                       .kept_for = "gradient of the activation function",
                       .source = gated ? source::kChainRule : source::kLayer};
  if (gated) out.Add(row);
  row.name = "up";
  out.Add(row);
  if (out.batch().recomputation.activation_function) return;
  row.name = "down_input";
  row.kind = Kind::kMatmulInput;
  row.kept_for = "weight gradient of down";
  out.Add(row);
}

// Each of the groups of tensor parallel ranks that together hold all experts brings its own tokens:
//   k s/c x_t/t slots a GPU and sequence, times the load factor
// where x_t ranks share an expert and see the same slots. Rounded up a sequence.
// Source: derived in docs/memory.md; x_t = t = 1 is k s, as SimuMax and llm-analysis have it.
CheckedInt SlotsPerSequence(const ExpertsSpec& experts, const ActivationList& out) {
  const MicroBatchSpec& batch = out.batch();
  const CheckedInt shared = CheckedInt(experts.experts_per_token) *
                            (out.sequence_length() / batch.context_parallel_size) *
                            ExpertTensorParallelSize(out.context().layout);
  if (!shared.ok()) return shared;
  if (batch.expert_load_factor == 1) return CeilDivide(shared.value(), out.tensor_ranks());
  const double slots =
      std::ceil(static_cast<double>(shared.value()) / static_cast<double>(out.tensor_ranks()) *
                batch.expert_load_factor);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (slots >= static_cast<double>(kMost)) return CheckedInt(kMost) * 2;
  return static_cast<int64_t>(slots);
}

void AddRoutedRows(const ExpertsSpec& experts, ActivationList& out) {
  const int64_t hidden = out.context().spec.hidden_size;
  out.SetExpertSlots(SlotsPerSequence(experts, out));
  out.Enter("experts");
  out.Add({.name = "input",
           .shape = "b s k h",
           .kind = Kind::kMatmulInput,
           .cut = Cut::kExpertTokens,
           .width = hidden,
           .kept_for = "weight gradients of gate and up",
           .source = source::kChainRule});
  AddInnerRows({.kind = experts.expert.kind,
                .shape = "b s k f",
                .cut = Cut::kExpertFeatures,
                .width = experts.expert.size / ExpertTensorParallelSize(out.context().layout)},
               out);
  if (out.batch().expert_scaling == ExpertScaling::kBeforeDown) return;
  // Back at the tokens' own rank, so that the load of its experts doesn't matter.
  out.Add({.name = "output",
           .shape = "b s k h",
           .cut = Cut::kSequence,
           .width = CheckedInt(experts.experts_per_token) * hidden,
           .kept_for = "gradient of the router's probabilities",
           .source = source::kChainRule});
}

void AddSharedRows(const ExpertsSpec& experts, ActivationList& out) {
  if (experts.shared_expert_count == 0) return;
  out.Enter("shared_experts");
  AddInnerRows(
      {.kind = experts.shared_expert.kind,
       .shape = "b s f",
       .cut = Cut::kTensor,
       .width = experts.shared_expert_count * experts.shared_expert.size / out.tensor_ranks()},
      out);
  if (!experts.shared_expert_gate) return;
  ActivationRow row = {.name = "token_gate",
                       .shape = "b s",
                       .width = 1,
                       .kept_for = "gradients of the gate and of what it scales",
                       .source = source::kChainRule};
  out.Add(row);
  row.name = "output";
  row.shape = "b s h";
  row.width = out.context().spec.hidden_size;
  row.kept_for = "gradient of the gate";
  out.Add(row);
}

}  // namespace

void AddFeedForwardRows(const FeedForwardSpec& feed_forward, ActivationList& out) {
  AddInnerRows({.kind = feed_forward.kind,
                .shape = "b s f",
                .cut = Cut::kTensor,
                .width = feed_forward.size / out.tensor_ranks()},
               out);
}

void AddExpertRows(const ExpertsSpec& experts, ActivationList& out) {
  out.Enter("router");
  out.Add({.name = "probabilities",
           .shape = "b s E",
           .kind = Kind::kFp32,
           .width = experts.expert_count,
           .kept_for = "gradient of the router's softmax",
           .source = source::kChainRule});
  AddRoutedRows(experts, out);
  AddSharedRows(experts, out);
}

}  // namespace sextant
