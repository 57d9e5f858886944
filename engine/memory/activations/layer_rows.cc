#include "engine/memory/activations/layer_rows.h"

#include <cstdint>

#include "engine/model/block/mixer_block.h"

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
  if (inner.kind == FeedForwardKind::kGated && out.Needs(inner.inner)) out.Add(row);
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

// The experts' output, back at the tokens' own rank, so that the experts' load doesn't matter.
void AddExpertOutputRow(const ExpertsSpec& experts, ActivationList& out) {
  out.Add({.name = "output",
           .shape = "b s k h",
           .cut = Cut::kSequence,
           .width = CheckedInt(experts.experts_per_token) * out.context().spec.hidden_size,
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

void AddRoutedRows(const ExpertsSpec& experts, ActivationList& out) {
  const int64_t hidden = out.context().spec.hidden_size;
  out.SetExpertSlots(
      ExpertSlotsPerSequence(experts, out.context().layout, out.batch(), out.sequence_length()));
  out.Enter("experts");
  AddGatheredRoutes(experts, out);
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
      // The gradient of a probability needs the gradient of the tensor it scaled.
      .needs = out.Needs(ActivationSite::kExpertInner) || (scaled_before && router)};
  AddInnerRows(inner, out);
  if (scaled_before && !out.batch().fused_expert_activation) AddUnfusedRows(inner, router, out);
  out.AddOutputGradient({.name = "down.output_gradient",
                         .shape = "b s k h",
                         .cut = Cut::kExpertTokens,
                         .width = hidden},
                        ActivationSite::kExpertInner);
  if (!scaled_before && router) AddExpertOutputRow(experts, out);
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

// The rows of one layer; holds the data that they share.
class LayerRows {
 public:
  LayerRows(const LayerSpec& layer, ActivationList& out)
      : layer_(layer), norms_(layer.norms), out_(out) {}

  // Attention, a mixer, or both of one input. The backward pass of a mixer comes first.
  void AddMixing() {
    if (!MixesTokens(layer_)) return;
    const bool attends = layer_.attention.has_value();
    out_.EnterBranch(LayerBranch::kAttention);
    AddNorm(norms_.before_attention, "before_attention", ActivationSite::kAttentionInput);
    out_.Enter(attends ? "attention" : MixerName(layer_.mixer->kind));
    AddInput(norms_.before_attention, Kind::kMatmulInput, ActivationSite::kAttentionInput);
    if (attends) AddAttentionRows(*layer_.attention, false, out_);
    if (layer_.mixer.has_value()) {
      out_.EnterBranch(LayerBranch::kMixer);
      AddBlockRows(MixerBlock(*layer_.mixer, hidden()), out_);
    }
    out_.Enter(attends ? "attention" : MixerName(layer_.mixer->kind));
    AddBranchMask(ActivationSite::kAfterAttention);
    AddNorm(norms_.after_attention, "after_attention", ActivationSite::kAfterAttention);
  }

  void AddCrossAttention() {
    if (!layer_.cross_attention.has_value()) return;
    out_.EnterBranch(LayerBranch::kCrossAttention);
    AddNorm(norms_.before_cross_attention, "before_cross_attention", ActivationSite::kCrossInput);
    out_.Enter("cross_attention");
    AddInput(norms_.before_cross_attention, Kind::kMatmulInput, ActivationSite::kCrossInput);
    AddAttentionRows(*layer_.cross_attention, true, out_);
    AddBranchMask(ActivationSite::kAfterCrossAttention);
    AddNorm(norms_.after_cross_attention, "after_cross_attention",
            ActivationSite::kAfterCrossAttention);
  }

  void AddFeedForward() {
    const bool experts = layer_.experts.has_value();
    if (!layer_.feed_forward.has_value() && !experts) return;
    out_.EnterBranch(LayerBranch::kFeedForward);
    AddNorm(norms_.before_feed_forward, "before_feed_forward", ActivationSite::kFeedForwardInput);
    out_.Enter("feed_forward");
    // A router reads its input as computed.
    if (!SharesItsInput(layer_)) {
      AddInput(norms_.before_feed_forward, experts ? Kind::kCompute : Kind::kMatmulInput,
               ActivationSite::kFeedForwardInput);
    }
    if (layer_.feed_forward.has_value()) {
      if (experts) out_.EnterBranch(LayerBranch::kWithExperts);
      AddFeedForwardRows(*layer_.feed_forward, out_);
      out_.EnterBranch(LayerBranch::kFeedForward);
    }
    if (experts) AddExpertRows(*layer_.experts, out_);
    out_.EnterBranch(LayerBranch::kWithExperts);
    out_.Enter("feed_forward");
    AddBranchMask(ActivationSite::kLayerOutput);
    AddNorm(norms_.after_feed_forward, "after_feed_forward", ActivationSite::kLayerOutput);
  }

  // The output gradients of the branches' last matrices: for each, the residual's gradient, or the
  // one that dropout or a norm derives from it. Parallel branches without dropout and norm all
  // read the same one. Routed experts have theirs at their own ranks.
  void AddOutputGradients() {
    const bool ends_alike =
        SharesItsInput(layer_) && !norms_.after_feed_forward && !out_.batch().dropout;
    const bool dense = layer_.feed_forward.has_value();
    const bool shared = layer_.experts.has_value() && layer_.experts->shared_expert_count > 0;
    const bool gated = shared && layer_.experts->shared_expert_gate;
    if (layer_.attention.has_value() && !(ends_alike && (dense || shared))) {
      AddOutputGradient("attention", "output.output_gradient", ActivationSite::kHeads);
    }
    if (layer_.mixer.has_value() && !(ends_alike && (dense || shared))) {
      AddOutputGradient(MixerName(layer_.mixer->kind), "output.output_gradient",
                        ActivationSite::kMixer);
    }
    if (layer_.cross_attention.has_value()) {
      AddOutputGradient("cross_attention", "output.output_gradient", ActivationSite::kCrossHeads);
    }
    if (dense) {
      AddOutputGradient("feed_forward", "down.output_gradient", ActivationSite::kFeedForwardInner);
    }
    if (shared && (gated || !dense)) {
      AddOutputGradient("shared_experts", "down.output_gradient",
                        ActivationSite::kSharedExpertInner);
    }
  }

 private:
  void AddOutputGradient(absl::string_view module, absl::string_view name, ActivationSite read) {
    out_.Enter(module);
    out_.AddOutputGradient({.name = name, .shape = "b s h", .width = hidden()}, read);
  }

  // dx of a norm needs x even where its scale is frozen, so a frozen norm keeps its input wherever
  // a gradient flows through it.
  void AddNorm(bool present, absl::string_view name, ActivationSite made) {
    if (!present || !out_.Needs(made)) return;
    const bool after = made == ActivationSite::kAfterAttention ||
                       made == ActivationSite::kAfterCrossAttention ||
                       made == ActivationSite::kLayerOutput;
    out_.Enter("norm");
    out_.Add({.name = name,
              .shape = "b s h",
              .width = hidden(),
              .step = after ? BackwardStep::kAfterNorm : BackwardStep::kBeforeNorm,
              .kept_for = "gradient of the norm",
              .source = source::kLayer});
  }

  void AddInput(bool normed, Kind kind, ActivationSite read) {
    ActivationRow row = {.name = "input",
                         .shape = "b s h",
                         .kind = kind,
                         .width = hidden(),
                         .step = BackwardStep::kInput,
                         .again = normed && out_.batch().recomputation.norm_outputs,
                         .for_weights = true,
                         .kept_for = "weight gradients of the matrices that read it",
                         .source = source::kLayer};
    const LayerGradients* gradients = out_.gradients();
    if (gradients == nullptr) return out_.Add(row);
    MatmulUse use = gradients->UseOf(read);
    if (read == ActivationSite::kAttentionInput && SharesItsInput(layer_)) {
      const MatmulUse other = gradients->UseOf(ActivationSite::kFeedForwardInput);
      use.trained = use.trained || other.trained;
      use.adapters = static_cast<int8_t>(use.adapters + other.adapters);
    }
    out_.AddMatmulInput(row, use);
  }

  void AddBranchMask(ActivationSite made) {
    if (!out_.batch().dropout || !out_.Needs(made)) return;
    out_.Add({.name = "dropout_mask",
              .shape = "b s h",
              .kind = Kind::kMask,
              .width = hidden(),
              .step = BackwardStep::kDropout,
              .kept_for = "gradient of dropout",
              .source = source::kLayer});
  }

  int64_t hidden() const { return out_.context().spec.hidden_size; }

  const LayerSpec& layer_;
  const LayerNorms& norms_;
  ActivationList& out_;
};

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
  out.EnterBranch(LayerBranch::kWithExperts);
  AddSharedRows(experts, out);
  out.EnterBranch(LayerBranch::kFeedForward);
}

void AddLayerRows(const LayerSpec& layer, ActivationList& out) {
  if (out.batch().recomputation.policy == RecomputePolicy::kFull) return AddLayerInputRow(out);
  LayerRows rows(layer, out);
  rows.AddMixing();
  rows.AddCrossAttention();
  rows.AddFeedForward();
  if (out.WaitsFor(MatmulUse())) rows.AddOutputGradients();
}

void AddLayerInputRow(ActivationList& out) {
  if (!out.Needs(ActivationSite::kLayerOutput)) return;
  out.Enter("layer");
  out.Add({.name = "input",
           .shape = "b s h",
           .width = out.context().spec.hidden_size,
           .kept_for = "computing the layer again",
           .source = source::kFullRecompute});
}

}  // namespace sextant
