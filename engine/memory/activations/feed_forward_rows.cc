// The rows of feed-forwards and experts.
#include <cstdint>

#include "engine/memory/activations/layer_rows.h"

namespace sextant {
namespace {

using Cut = ActivationCut;
using Kind = ElementKind;
namespace source = activation_source;

// The inner features of a feed-forward on this GPU, per row.
struct InnerRows {
  FeedForwardKind kind;
  absl::string_view shape;
  Cut cut;
  int64_t width;
  ActivationSite input;
  ActivationSite inner;
  bool needs;  // a gradient flows through the activation function
};

// Rows of experts whose feature operations are not fused. Scaling reads the activation's output
// for the gradient of the router's probability. A gated activation's product reads the activated
// gate for the gradient of up. Source: Megatron-LM, megatron/core/transformer/moe/experts.py,
// unfused (docs/memory.md).
void AddUnfusedRows(const InnerRows& inner, bool router, ActivationList& out) {
  ActivationRow row = {.name = "activated_gate",
                       .shape = inner.shape,
                       .cut = inner.cut,
                       .width = inner.width,
                       .step = BackwardStep::kCore,
                       .again = out.batch().recomputation.activation_function,
                       .kept_for = "gradient of up",
                       .source = source::kChainRule};
  const bool gated = inner.kind == FeedForwardKind::kGated && out.Needs(inner.inner);
  if (gated && !out.batch().eager_layers) out.Add(row);  // else AddInnerRows() does
  row.name = "activation_output";
  row.kept_for = "gradient of the router's probabilities";
  if (router) out.Add(row);
}

// Source: Korthikanti et al. 2022 (arXiv 2205.05198) section 4.1 for the ungated one: the
// activation function's input and output. Gated: d(a(g) u) needs both g and u, and the next matrix
// needs their product.
void AddInnerRows(const InnerRows& inner, ActivationList& out) {
  const bool gated = inner.kind == FeedForwardKind::kGated;
  ActivationRow row = {.name = "gate",
                       .shape = inner.shape,
                       .kind = out.ProductKind(),
                       .cut = inner.cut,
                       .width = inner.width,
                       .step = BackwardStep::kCore,
                       .saved = out.Saves("gate"),
                       .kept_for = "gradient of the activation function",
                       .source = gated ? source::kChainRule : source::kLayer};
  if (gated && inner.needs) out.Add(row);
  row.name = "up";
  row.saved = out.Saves("up");
  if (inner.needs) out.Add(row);
  row.saved = false;
  // The product of eager code reads the activated gate, too.
  row.name = "activated_gate";
  row.kept_for = "gradient of up";
  if (gated && inner.needs && out.batch().eager_layers) out.Add(row);
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

// The matrices between the residual and narrower experts. The router keeps the input of the first.
void AddExpertLatentRows(const ExpertsSpec& experts, ActivationList& out) {
  if (experts.latent_size == 0) return;
  out.Enter("expert_latent");
  out.AddMatmulInput({.name = "up_input",
                      .shape = "b s l",
                      .kind = Kind::kMatmulInput,
                      .width = experts.latent_size,
                      .step = BackwardStep::kOutput,
                      .kept_for = "weight gradient of up",
                      .source = source::kChainRule},
                     ActivationSite::kExpertSum);
  out.AddOutputGradient(
      {.name = "down.output_gradient", .shape = "b s l", .width = experts.latent_size},
      ActivationSite::kFeedForwardInput);
}

// The experts' output, back at the tokens' own rank, so that the experts' load doesn't matter.
void AddExpertOutputRow(const ExpertsSpec& experts, ActivationList& out) {
  out.Add({.name = "output",
           .shape = RoutedShape(experts),
           .cut = Cut::kSequence,
           .width = CheckedInt(experts.experts_per_token) *
                    ExpertWidth(experts, out.context().spec.hidden_size),
           .step = BackwardStep::kOutput,
           .kept_for = "gradient of the router's probabilities",
           .source = source::kChainRule});
}

// A rank's columns of the probabilities and experts of all tokens that it gathers: E / x columns of
// x x_t times as many tokens. Source: docs/memory.md, "A layer".
void AddGatheredRoutes(const ExpertsSpec& experts, ActivationList& out) {
  if (TokenGatheringRanks(out.context().layout, out.batch()) == 1) return;
  if (out.gradients() != nullptr && !out.gradients()->router_needs) return;
  ActivationRow row = {
      .name = "local_probabilities",
      .shape = "b s E",
      .cut = Cut::kSequence,
      .width = CheckedInt(experts.expert_count) * ExpertTensorParallelSize(out.context().layout),
      .step = BackwardStep::kInput,
      .kept_for = "gradient of the router's probabilities",
      .source = source::kChainRule};
  out.Add(row);
  row.name = "local_map";
  row.kind = Kind::kMask;
  out.Add(row);
}

// Tokens that experts' ranks exchange, there and back.
void AddSavedExchanges(const ExpertsSpec& experts, ActivationList& out) {
  if (out.context().layout.expert_parallel_size == 1) return;
  const int64_t width = ExpertWidth(experts, out.context().spec.hidden_size);
  out.AddSaved({.name = "received",
                .shape = RoutedShape(experts),
                .cut = Cut::kExpertTokens,
                .width = width,
                .step = BackwardStep::kInput});
  out.AddSaved({.name = "returned",
                .shape = RoutedShape(experts),
                .cut = Cut::kSequence,
                .width = CheckedInt(experts.experts_per_token) * width,
                .step = BackwardStep::kOutput});
}

void AddRoutedRows(const ExpertsSpec& experts, ActivationList& out) {
  const int64_t hidden = ExpertWidth(experts, out.context().spec.hidden_size);
  AddExpertLatentRows(experts, out);
  out.SetExpertSlots(
      ExpertSlotsPerSequence(experts, out.context().layout, out.batch(), out.sequence_length()));
  out.Enter("experts");
  AddGatheredRoutes(experts, out);
  out.AddMatmulInput({.name = "input",
                      .shape = RoutedShape(experts),
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
      // The gradient of a probability needs the gradient of the tensor it scaled.
      .needs = out.Needs(ActivationSite::kExpertInner) || (scaled_before && router)};
  AddInnerRows(inner, out);
  if (scaled_before && !out.batch().fused_expert_activation) AddUnfusedRows(inner, router, out);
  out.AddOutputGradient({.name = "down.output_gradient",
                         .shape = RoutedShape(experts),
                         .cut = Cut::kExpertTokens,
                         .width = hidden},
                        ActivationSite::kExpertInner);
  if (!scaled_before && router) AddExpertOutputRow(experts, out);
  AddSavedExchanges(experts, out);
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
  out.AddSavedOutput("down");
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

void AddFeedForwardRows(const FeedForwardSpec& feed_forward, ActivationList& out) {
  AddInnerRows({.kind = feed_forward.kind,
                .shape = "b s f",
                .cut = Cut::kTensor,
                .width = feed_forward.size / out.tensor_ranks(),
                .input = ActivationSite::kFeedForwardInput,
                .inner = ActivationSite::kFeedForwardInner,
                .needs = out.Needs(ActivationSite::kFeedForwardInner)},
               out);
  out.AddSavedOutput("down");
}

void AddExpertRows(const ExpertsSpec& experts, ActivationList& out) {
  out.Enter("router");
  if (out.gradients() == nullptr || out.gradients()->router_needs) {
    out.Add({.name = "probabilities",
             .shape = "b s E",
             .kind = Kind::kFp32,
             .width = RouterSize(experts),
             .step = BackwardStep::kInput,
             .kept_for = "gradient of the router's softmax",
             .source = source::kChainRule});
  }
  out.AddOutputGradient({.name = "output_gradient",
                         .shape = "b s E",
                         .kind = Kind::kFp32,
                         .width = RouterSize(experts)},
                        ActivationSite::kFeedForwardInput);
  AddRoutedRows(experts, out);
  out.EnterBranch(LayerBranch::kWithExperts);
  AddSharedRows(experts, out);
  // With shared experts the sum of both is scattered as one.
  if (experts.shared_expert_count == 0) out.AddSavedOutput("down");
  out.EnterBranch(LayerBranch::kFeedForward);
}

}  // namespace sextant
