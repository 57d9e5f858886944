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
    AddNorm(norms_.before_attention, "before_attention");
    out_.Enter("attention");
    AddInput(norms_.before_attention, Kind::kMatmulInput);
    AddAttentionRows(*layer_.attention, false, out_);
    AddBranchMask();
    AddNorm(norms_.after_attention, "after_attention");
  }

  void AddCrossAttention() {
    if (!layer_.cross_attention.has_value()) return;
    AddNorm(norms_.before_cross_attention, "before_cross_attention");
    out_.Enter("cross_attention");
    AddInput(norms_.before_cross_attention, Kind::kMatmulInput);
    AddAttentionRows(*layer_.cross_attention, true, out_);
    AddBranchMask();
    AddNorm(norms_.after_cross_attention, "after_cross_attention");
  }

  void AddFeedForward() {
    const bool experts = layer_.experts.has_value();
    if (!layer_.feed_forward.has_value() && !experts) return;
    AddNorm(norms_.before_feed_forward, "before_feed_forward");
    out_.Enter("feed_forward");
    // A router reads it as it is computed.
    if (!SharesItsInput()) {
      AddInput(norms_.before_feed_forward, experts ? Kind::kCompute : Kind::kMatmulInput);
    }
    if (layer_.feed_forward.has_value()) AddFeedForwardRows(*layer_.feed_forward, out_);
    if (experts) AddExpertRows(*layer_.experts, out_);
    out_.Enter("feed_forward");
    AddBranchMask();
    AddNorm(norms_.after_feed_forward, "after_feed_forward");
  }

 private:
  // Branches that run in parallel read the output of one norm.
  bool SharesItsInput() const {
    return layer_.attention.has_value() && !layer_.cross_attention.has_value() &&
           norms_.before_attention && !norms_.after_attention && !norms_.before_feed_forward;
  }

  void AddNorm(bool present, absl::string_view name) {
    if (!present) return;
    out_.Enter("norm");
    out_.Add({.name = name,
              .shape = "b s h",
              .width = hidden(),
              .kept_for = "gradient of the norm",
              .source = source::kLayer});
  }

  void AddInput(bool normed, Kind kind) {
    if (normed && out_.batch().recomputation.norm_outputs) return;
    out_.Add({.name = "input",
              .shape = "b s h",
              .kind = kind,
              .width = hidden(),
              .kept_for = "weight gradients of the matrices that read it",
              .source = source::kLayer});
  }

  void AddBranchMask() {
    if (!out_.batch().dropout) return;
    out_.Add({.name = "dropout_mask",
              .shape = "b s h",
              .kind = Kind::kMask,
              .width = hidden(),
              .kept_for = "gradient of dropout",
              .source = source::kLayer});
  }

  int64_t hidden() const { return out_.context().spec.hidden_size; }

  const LayerSpec& layer_;
  const LayerNorms& norms_;
  ActivationList& out_;
};

}  // namespace

void AddLayerRows(const LayerSpec& layer, ActivationList& out) {
  if (out.batch().recomputation.policy == RecomputePolicy::kFull) return AddLayerInputRow(out);
  LayerRows rows(layer, out);
  rows.AddAttention();
  rows.AddCrossAttention();
  rows.AddFeedForward();
}

void AddLayerInputRow(ActivationList& out) {
  out.Enter("layer");
  out.Add({.name = "input",
           .shape = "b s h",
           .width = out.context().spec.hidden_size,
           .kept_for = "computing the layer again",
           .source = source::kFullRecompute});
}

}  // namespace sextant
