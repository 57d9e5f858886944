#include "engine/memory/activations/layer_rows.h"

#include "engine/memory/activations/sources.h"

namespace sextant {
namespace {

using Kind = ElementKind;
namespace source = activation_source;

// The rows of one layer; keeps what all of them need.
class LayerRows {
 public:
  LayerRows(const LayerSpec& layer, ActivationList& out)
      : layer_(layer), norms_(layer.norms), out_(out) {}

  void AddAttention() {
    if (!layer_.attention.has_value()) return;
    out_.EnterBranch(LayerBranch::kAttention);
    AddNorm(norms_.before_attention, "before_attention", ActivationSite::kAttentionInput);
    out_.Enter("attention");
    AddInput(norms_.before_attention, Kind::kMatmulInput, ActivationSite::kAttentionInput);
    AddAttentionRows(*layer_.attention, false, out_);
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
    // A router reads it as it is computed.
    if (!SharesItsInput(layer_)) {
      AddInput(norms_.before_feed_forward, experts ? Kind::kCompute : Kind::kMatmulInput,
               ActivationSite::kFeedForwardInput);
    }
    if (layer_.feed_forward.has_value()) {
      if (experts) out_.EnterBranch(LayerBranch::kBesideExperts);
      AddFeedForwardRows(*layer_.feed_forward, out_);
      out_.EnterBranch(LayerBranch::kFeedForward);
    }
    if (experts) AddExpertRows(*layer_.experts, out_);
    out_.EnterBranch(LayerBranch::kBesideExperts);
    out_.Enter("feed_forward");
    AddBranchMask(ActivationSite::kLayerOutput);
    AddNorm(norms_.after_feed_forward, "after_feed_forward", ActivationSite::kLayerOutput);
  }

  // Of the matrices that end the branches: of each what the residual carries, or what is made of it
  // by dropout or a norm. Branches in parallel without these all read the same. Routed experts' are
  // at their own ranks.
  void AddOutputGradients() {
    const bool ends_alike =
        SharesItsInput(layer_) && !norms_.after_feed_forward && !out_.batch().dropout;
    const bool dense = layer_.feed_forward.has_value();
    const bool shared = layer_.experts.has_value() && layer_.experts->shared_expert_count > 0;
    const bool gated = shared && layer_.experts->shared_expert_gate;
    if (layer_.attention.has_value() && !(ends_alike && (dense || shared))) {
      AddOutputGradient("attention", "output.output_gradient", ActivationSite::kHeads);
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

  // dx of a norm asks for x whether its scale is trained or not, so that a frozen norm keeps its
  // input wherever a gradient passes it.
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

// Branches that run in parallel read the output of one norm.
bool SharesItsInput(const LayerSpec& layer) {
  const LayerNorms& norms = layer.norms;
  return layer.attention.has_value() && !layer.cross_attention.has_value() &&
         norms.before_attention && !norms.after_attention && !norms.before_feed_forward;
}

void AddLayerRows(const LayerSpec& layer, ActivationList& out) {
  if (out.batch().recomputation.policy == RecomputePolicy::kFull) return AddLayerInputRow(out);
  LayerRows rows(layer, out);
  rows.AddAttention();
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
