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
  ActivationSite input;
  ActivationSite inner;
  bool needs;  // a gradient passes the activation function
};

// Where experts' features are made by operations of their own: scaling reads the activation's
// output, for the gradient of what the router gave; and a gated activation's product the activated
// gate, for that of up. Source: Megatron-LM, megatron/core/transformer/moe/experts.py, unfused
// (docs/memory.md).
void AddUnfusedRows(const InnerRows& inner, bool router, ActivationList& out) {
  ActivationRow row = {.name = "activated_gate",
                       .shape = inner.shape,
                       .cut = inner.cut,
                       .width = inner.width,
                       .step = BackwardStep::kCore,
                       .again = out.batch().recomputation.activation_function,
                       .kept_for = "gradient of up",
                       .source = source::kChainRule};
  if (inner.kind == FeedForwardKind::kGated && out.Needs(inner.inner)) out.Add(row);
  row.name = "activation_output";
  row.kept_for = "gradient of the router's probabilities";
  if (router) out.Add(row);
}

// Source: Korthikanti et al. 2022 (arXiv 2205.05198) section 4.1 for the ungated one: the
// activation function's input and output. Gated: d(a(g) u) asks for both g and u, and the matrix
// behind it for their product.
void AddInnerRows(const InnerRows& inner, ActivationList& out) {
  const bool gated = inner.kind == FeedForwardKind::kGated;
  ActivationRow row = {.name = "gate",
                       .shape = inner.shape,
                       .cut = inner.cut,
                       .width = inner.width,
                       .step = BackwardStep::kCore,
                       .kept_for = "gradient of the activation function",
                       .source = gated ? source::kChainRule : source::kLayer};
  if (gated && inner.needs) out.Add(row);
  row.name = "up";
  if (inner.needs) out.Add(row);
  row.name = "down_input";
  row.kind = Kind::kMatmulInput;
  row.step = BackwardStep::kOutput;
  row.again = out.batch().recomputation.activation_function;
  row.kept_for = "weight gradient of down";
  out.AddMatmulInput(row, inner.inner);
  ActivationRow gradient = {
      .name = "gate.output_gradient", .shape = inner.shape, .cut = inner.cut, .width = inner.width};
  if (gated) out.AddOutputGradient(gradient, inner.input);
  gradient.name = "up.output_gradient";
  out.AddOutputGradient(gradient, inner.input);
}

void AddRoutedRows(const ExpertsSpec& experts, ActivationList& out) {
  const int64_t hidden = out.context().spec.hidden_size;
  out.SetExpertSlots(ExpertSlotsPerSequence(experts, out.context(), out.part()));
  out.Enter("experts");
  out.AddMatmulInput({.name = "input",
                      .shape = "b s k h",
                      .kind = Kind::kMatmulInput,
                      .cut = Cut::kExpertTokens,
                      .width = hidden,
                      .step = BackwardStep::kInput,
                      .kept_for = "weight gradients of gate and up",
                      .source = source::kChainRule},
                     ActivationSite::kExpertInput);
  const bool scaled_before = out.batch().expert_scaling == ExpertScaling::kBeforeDown;
  const bool router = out.gradients() == nullptr || out.gradients()->router_needs;
  const InnerRows inner = {
      .kind = experts.expert.kind,
      .shape = "b s k f",
      .cut = Cut::kExpertFeatures,
      .width = experts.expert.size / ExpertTensorParallelSize(out.context().layout),
      .input = ActivationSite::kExpertInput,
      .inner = ActivationSite::kExpertInner,
      // The gradient of a probability is that of what it scaled.
      .needs = out.Needs(ActivationSite::kExpertInner) || (scaled_before && router)};
  AddInnerRows(inner, out);
  if (scaled_before && !out.batch().fused_expert_activation) AddUnfusedRows(inner, router, out);
  out.AddOutputGradient({.name = "down.output_gradient",
                         .shape = "b s k h",
                         .cut = Cut::kExpertTokens,
                         .width = hidden},
                        ActivationSite::kExpertInner);
  if (scaled_before || !router) return;
  // Back at the tokens' own rank, so that the load of its experts doesn't matter.
  out.Add({.name = "output",
           .shape = "b s k h",
           .cut = Cut::kSequence,
           .width = CheckedInt(experts.experts_per_token) * hidden,
           .step = BackwardStep::kOutput,
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
       .width = experts.shared_expert_count * experts.shared_expert.size / out.tensor_ranks(),
       .input = ActivationSite::kFeedForwardInput,
       .inner = ActivationSite::kSharedExpertInner,
       .needs = out.Needs(ActivationSite::kSharedExpertInner)},
      out);
  if (!experts.shared_expert_gate) return;
  ActivationRow row = {.name = "token_gate",
                       .shape = "b s",
                       .width = 1,
                       .step = BackwardStep::kOutput,
                       .kept_for = "gradients of the gate and of what it scales",
                       .source = source::kChainRule};
  const bool gate = out.gradients() == nullptr || out.gradients()->token_gate_needs;
  if (gate || out.Needs(ActivationSite::kSharedExpertInner)) out.Add(row);
  if (!gate) return;
  out.AddOutputGradient({.name = "token_gate.output_gradient", .shape = "b s", .width = 1},
                        ActivationSite::kFeedForwardInput);
  row.name = "output";
  row.shape = "b s h";
  row.width = out.context().spec.hidden_size;
  row.kept_for = "gradient of the gate";
  out.Add(row);
}

}  // namespace

// Each of the groups of tensor parallel ranks that together hold all experts brings its own tokens:
//   k s/c x_t/t slots a GPU and sequence, times the load factor
// where x_t ranks share an expert and see the same slots. Rounded up a sequence.
// Source: derived in docs/memory.md; x_t = t = 1 is k s, as SimuMax and llm-analysis have it.
CheckedInt ExpertSlotsPerSequence(const ExpertsSpec& experts, const ActivationContext& context,
                                  ModelPart part) {
  const MicroBatchSpec& batch = context.batch;
  const int64_t ranks = context.layout.tensor_parallel_size;
  const CheckedInt shared = CheckedInt(experts.experts_per_token) *
                            (SequenceLengthOf(context, part) / batch.context_parallel_size) *
                            ExpertTensorParallelSize(context.layout);
  if (!shared.ok()) return shared;
  if (batch.expert_load_factor == 1) return CeilDivide(shared.value(), ranks);
  const double slots = std::ceil(static_cast<double>(shared.value()) / static_cast<double>(ranks) *
                                 batch.expert_load_factor);
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (slots >= static_cast<double>(kMost)) return CheckedInt(kMost) * 2;
  return static_cast<int64_t>(slots);
}

void AddFeedForwardRows(const FeedForwardSpec& feed_forward, ActivationList& out) {
  AddInnerRows({.kind = feed_forward.kind,
                .shape = "b s f",
                .cut = Cut::kTensor,
                .width = feed_forward.size / out.tensor_ranks(),
                .input = ActivationSite::kFeedForwardInput,
                .inner = ActivationSite::kFeedForwardInner,
                .needs = out.Needs(ActivationSite::kFeedForwardInner)},
               out);
}

void AddExpertRows(const ExpertsSpec& experts, ActivationList& out) {
  out.Enter("router");
  if (out.gradients() == nullptr || out.gradients()->router_needs) {
    out.Add({.name = "probabilities",
             .shape = "b s E",
             .kind = Kind::kFp32,
             .width = experts.expert_count,
             .step = BackwardStep::kInput,
             .kept_for = "gradient of the router's softmax",
             .source = source::kChainRule});
  }
  out.AddOutputGradient({.name = "output_gradient",
                         .shape = "b s E",
                         .kind = Kind::kFp32,
                         .width = experts.expert_count},
                        ActivationSite::kFeedForwardInput);
  AddRoutedRows(experts, out);
  out.EnterBranch(LayerBranch::kBesideExperts);
  AddSharedRows(experts, out);
  out.EnterBranch(LayerBranch::kFeedForward);
}

}  // namespace sextant
