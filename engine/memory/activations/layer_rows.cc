#include "engine/memory/activations/layer_rows.h"

#include <cstdint>

#include "engine/model/block/mixer_block.h"

namespace sextant {
namespace {

using Kind = ElementKind;
namespace source = activation_source;

// The rows of one layer; holds the data that they share.
class LayerRows {
 public:
  LayerRows(const LayerSpec& layer, ActivationList& out)
      : layer_(layer), norms_(layer.norms), out_(out) {}

  // From here on, adds no row for the layer's input.
  void SkipInput() {
    skipped_ =
        MixesTokens(layer_) ? ActivationSite::kAttentionInput : ActivationSite::kFeedForwardInput;
  }

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
    const bool routes = experts && !norms_.before_experts;
    if (!SharesItsInput(layer_)) {
      AddInput(norms_.before_feed_forward, routes ? Kind::kCompute : Kind::kMatmulInput,
               ActivationSite::kFeedForwardInput);
    }
    if (layer_.feed_forward.has_value()) {
      if (experts) out_.EnterBranch(LayerBranch::kWithExperts);
      AddFeedForwardRows(*layer_.feed_forward, out_);
      AddNorm(norms_.before_sum, "after_dense", ActivationSite::kLayerOutput);
      out_.EnterBranch(LayerBranch::kFeedForward);
    }
    if (experts) {
      if (norms_.before_experts) AddRouterInput();
      AddExpertRows(*layer_.experts, out_);
      AddNorm(norms_.before_sum, "after_experts", ActivationSite::kExpertSum);
    }
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
    const bool widens = layer_.experts.has_value() && layer_.experts->latent_size > 0;
    const bool same = !norms_.before_sum && (dense || (shared && !gated));
    if (widens && !same) {
      AddOutputGradient("expert_latent", "up.output_gradient", ActivationSite::kExpertSum);
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
    if (!present || !out_.Needs(made) || made == skipped_) return;
    const bool after = made == ActivationSite::kAfterAttention ||
                       made == ActivationSite::kAfterCrossAttention ||
                       made == ActivationSite::kExpertSum || made == ActivationSite::kLayerOutput;
    out_.Enter("norm");
    out_.AddNorm({.name = name,
                  .shape = "b s h",
                  .width = hidden(),
                  .step = after ? BackwardStep::kAfterNorm : BackwardStep::kBeforeNorm,
                  .source = source::kLayer},
                 {.variant = layer_.norm, .of_residual = !after, .trained = TrainsMatrices()});
  }

  void AddInput(bool normed, Kind kind, ActivationSite read) {
    if (!normed && read == skipped_) return;
    ActivationRow row = {.name = "input",
                         .shape = "b s h",
                         .kind = kind,
                         .width = hidden(),
                         .step = BackwardStep::kInput,
                         .again = normed && out_.batch().recomputation.norm_outputs,
                         .for_weights = true,
                         .kept_for = "weight gradients of the matrices that read it",
                         .source = source::kLayer};
    const bool shares = read == ActivationSite::kAttentionInput && SharesItsInput(layer_);
    int64_t readers = ReadersOf(read);
    if (shares) readers += ReadersOf(ActivationSite::kFeedForwardInput);
    const LayerGradients* gradients = out_.gradients();
    if (gradients == nullptr) return out_.AddCast(row, readers);
    MatmulUse use = gradients->UseOf(read);
    if (shares) {
      const MatmulUse other = gradients->UseOf(ActivationSite::kFeedForwardInput);
      use.trained = use.trained || other.trained;
      use.adapters = static_cast<int8_t>(use.adapters + other.adapters);
    }
    out_.AddMatmulInput(row, use, readers);
  }

  // Norms are frozen with the matrices.
  bool TrainsMatrices() const {
    return out_.gradients() == nullptr || !out_.gradients()->trained.empty();
  }

  // The matrices that read `site`, as code without fused ones has them.
  int64_t ReadersOf(ActivationSite site) const {
    if (site == ActivationSite::kCrossInput) return 1;  // of queries
    if (site == ActivationSite::kAttentionInput) {
      if (!layer_.attention.has_value()) return 1;
      return layer_.attention->latent.has_value() ? 2 : 3;
    }
    const bool routes = layer_.experts.has_value() && !norms_.before_experts;
    const bool gated =
        layer_.feed_forward.has_value() && layer_.feed_forward->kind == FeedForwardKind::kGated;
    return (layer_.feed_forward.has_value() ? (gated ? 2 : 1) : 0) + (routes ? 1 : 0);
  }

  // Its norm, and that of the experts' input, read the residual that the norm before the
  // feed-forward keeps.
  void AddRouterInput() {
    out_.Enter("router");
    const LayerGradients* gradients = out_.gradients();
    const bool trained =
        gradients == nullptr || gradients->trained.Has(ActivationSite::kFeedForwardInput);
    out_.AddMatmulInput({.name = "input",
                         .shape = "b s h",
                         .width = hidden(),
                         .step = BackwardStep::kInput,
                         .kept_for = "weight gradient of the router",
                         .source = source::kChainRule},
                        MatmulUse{.trained = trained});
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
  absl::optional<ActivationSite> skipped_ = {};
};

// The layer's input, which no other row stands for, and of the others what is saved.
void AddRowsByOperator(const LayerSpec& layer, ActivationList& out) {
  const SavedProducts saved(layer);
  LayerRows rows(layer, out);
  AddLayerInputRow(out, InputPositionOf(layer));
  if (KeepsItsInput(layer, out.batch())) rows.SkipInput();
  out.RecomputeAllBut(&saved);
  rows.AddMixing();
  rows.AddFeedForward();
  out.RecomputeAllBut(nullptr);
}

}  // namespace

void AddLayerRows(const LayerSpec& layer, ActivationList& out) {
  const RecomputePolicy policy = out.batch().recomputation.policy;
  if (policy == RecomputePolicy::kFull) return AddLayerInputRow(out);
  if (policy == RecomputePolicy::kOperators) return AddRowsByOperator(layer, out);
  LayerRows rows(layer, out);
  rows.AddMixing();
  rows.AddCrossAttention();
  rows.AddFeedForward();
  if (out.WaitsFor(MatmulUse())) rows.AddOutputGradients();
}

BackwardPosition InputPositionOf(const LayerSpec& layer) {
  const auto at = [](LayerBranch branch, bool normed) {
    return BackwardPosition{branch, normed ? BackwardStep::kBeforeNorm : BackwardStep::kInput};
  };
  if (MixesTokens(layer)) {
    return at(LayerBranch::kAttention, layer.norms.before_attention);
  }
  if (layer.cross_attention.has_value()) {
    return at(LayerBranch::kCrossAttention, layer.norms.before_cross_attention);
  }
  return at(LayerBranch::kFeedForward, layer.norms.before_feed_forward);
}

void AddLayerInputRow(ActivationList& out, const BackwardPosition& freed) {
  if (!out.Needs(ActivationSite::kLayerOutput)) return;
  out.Enter("layer");
  out.EnterBranch(freed.branch);
  out.Add({.name = "input",
           .shape = "b s h",
           .kind = out.ResidualKind(),
           .width = out.context().spec.hidden_size,
           .step = freed.step,
           .saved = true,
           .kept_for = "computing the layer again",
           .source = source::kFullRecompute});
}

bool KeepsItsInput(const LayerSpec& layer, const MicroBatchSpec& batch) {
  const LayerNorms& norms = layer.norms;
  const bool normed = MixesTokens(layer)                  ? norms.before_attention
                      : layer.cross_attention.has_value() ? norms.before_cross_attention
                                                          : norms.before_feed_forward;
  if (!normed) return !batch.wide_residual;
  return batch.wide_residual || !CopiesNormInput(layer.norm, batch);
}

}  // namespace sextant
