#include "engine/model/trace/layer_trace.h"

#include "engine/model/block/mixer_block.h"

namespace sextant {
namespace {

using Site = ActivationSite;
using Element = TraceElement;

class LayerTrace {
 public:
  LayerTrace(const LayerSpec& layer, const LayerTraceParts& parts)
      : layer_(layer), norms_(layer.norms), parts_(parts), out_(parts.out) {}

  void Add() {
    residual_ = out_.Make(TokenRows::kSequence, hidden());
    if (MixesTokens(layer_)) AddMixing();
    if (layer_.cross_attention.has_value()) AddCrossAttention();
    if (layer_.feed_forward.has_value() || layer_.experts.has_value()) AddFeedForward();
    if (layer_.output_scale) AddOutputScale();
  }

 private:
  int64_t hidden() const { return out_.context().spec.hidden_size; }

  // Attention, a mixer, or both of one input.
  void AddMixing() {
    const Branch branch = {.before = norms_.before_attention,
                           .after = norms_.after_attention,
                           .before_name = "before_attention",
                           .after_name = "after_attention",
                           .input_site = Site::kAttentionInput,
                           .output_site = Site::kAfterAttention};
    const uint8_t input = Open(branch);
    shared_input_ = input;
    const LayerTraceParts parts = PartsOf(branch);
    uint8_t output = input;
    if (layer_.attention.has_value()) {
      output = AddAttentionTrace(parts, *layer_.attention, false, input);
    }
    if (layer_.mixer.has_value()) {
      const uint8_t mixed = AddBlockTrace(parts, MixerBlock(*layer_.mixer, hidden()), input);
      if (layer_.attention.has_value()) {
        out_.Pass(TracePass::kForward, "add", {{output}, {mixed}}, {{mixed}});
      }
      output = mixed;
    }
    Close(branch, output);
  }

  void AddOutputScale() {
    out_.Enter("layer");
    const TraceOperands output = {{residual_}};
    const TraceOperands gradient = {{residual_, true}};
    out_.Pass(TracePass::kForward, "output_scale", output, output);
    if (!parts_.Needs(Site::kLayerOutput)) return;
    out_.Pass(TracePass::kInputGradient, "output_scale", gradient, gradient);
  }

  void AddCrossAttention() {
    const Branch branch = {.before = norms_.before_cross_attention,
                           .after = norms_.after_cross_attention,
                           .before_name = "before_cross_attention",
                           .after_name = "after_cross_attention",
                           .input_site = Site::kCrossInput,
                           .output_site = Site::kAfterCrossAttention};
    const uint8_t input = Open(branch);
    Close(branch, AddAttentionTrace(PartsOf(branch), *layer_.cross_attention, true, input));
  }

  void AddFeedForward() {
    const Branch branch = {.before = norms_.before_feed_forward,
                           .after = norms_.after_feed_forward,
                           .before_name = "before_feed_forward",
                           .after_name = "after_feed_forward",
                           .input_site = Site::kFeedForwardInput,
                           .output_site = Site::kLayerOutput};
    uint8_t input = Open(branch);
    LayerTraceParts parts = PartsOf(branch);
    if (SharesItsInput(layer_)) {
      input = shared_input_;
      parts.norm_again = out_.batch().recomputation.norm_outputs;
    }
    uint8_t output = 0;
    const bool experts = layer_.experts.has_value();
    if (layer_.feed_forward.has_value()) {
      const FeedForwardSpec& dense = *layer_.feed_forward;
      output = AddFeedForwardTrace(parts,
                                   {.module = "feed_forward",
                                    .kind = dense.kind,
                                    .width = dense.size / out_.tensor_ranks(),
                                    .inner_needs = parts_.Needs(Site::kFeedForwardInner),
                                    .input_kept_as_computed = experts && !norms_.before_experts},
                                   input);
    }
    if (layer_.feed_forward.has_value()) output = NormBeforeSum("after_dense", output);
    if (experts) {
      const ExpertInputs inputs =
          norms_.before_experts ? OwnInputs() : ExpertInputs{.router = input, .routed = input};
      uint8_t routed = AddExpertsTrace(parts, *layer_.experts, inputs);
      if (layer_.feed_forward.has_value()) {
        routed = NormBeforeSum("after_experts", routed);
        out_.Pass(TracePass::kForward, "add", {{output}, {routed}}, {{routed}});
      }
      output = routed;
    }
    Close(branch, output);
  }

  // Norms of the router's input and of the experts'.
  ExpertInputs OwnInputs() {
    const ExpertInputs own = {.router = out_.Make(TokenRows::kSequence, hidden()),
                              .routed = out_.Make(TokenRows::kSequence, hidden())};
    out_.Enter("norm");
    out_.AddNorm({"before_router", residual_, own.router, parts_.Needs(Site::kFeedForwardInput)});
    out_.AddNorm({"before_experts", residual_, own.routed, parts_.Needs(Site::kExpertInput)});
    return own;
  }

  uint8_t NormBeforeSum(absl::string_view name, uint8_t output) {
    if (!norms_.before_sum) return output;
    const uint8_t normed = out_.Make(TokenRows::kSequence, hidden());
    out_.Enter("norm");
    out_.AddNorm({name, output, normed, parts_.Needs(Site::kLayerOutput)});
    return normed;
  }

  struct Branch {
    bool before = false;
    bool after = false;
    absl::string_view before_name;
    absl::string_view after_name;
    Site input_site = Site::kAttentionInput;
    Site output_site = Site::kAfterAttention;
  };

  LayerTraceParts PartsOf(const Branch& branch) const {
    LayerTraceParts out = parts_;
    out.norm_again = branch.before && out_.batch().recomputation.norm_outputs;
    return out;
  }

  // The gradients of the residual and of the branch meet at its start.
  uint8_t Open(const Branch& branch) {
    out_.Enter("residual");
    if (parts_.Needs(branch.input_site)) {
      out_.Pass(TracePass::kInputGradient, "add_gradient", {{residual_, true}, {residual_, true}},
                {{residual_, true}});
    }
    if (!branch.before) return residual_;
    const uint8_t normed = out_.Make(TokenRows::kSequence, hidden());
    out_.Enter("norm");
    out_.AddNorm({.name = branch.before_name,
                  .input = residual_,
                  .output = normed,
                  .needed = parts_.Needs(branch.input_site),
                  .again = out_.batch().recomputation.norm_outputs});
    return normed;
  }

  // Dropout and the residual's sum are one pass.
  void Close(const Branch& branch, uint8_t output) {
    out_.Enter("residual");
    const uint8_t sum = out_.Make(TokenRows::kSequence, hidden());
    TraceOperands writes = {{sum}};
    if (out_.batch().dropout) {
      const uint8_t mask = out_.Make(TokenRows::kSequence, hidden(), Element::kMask);
      writes.Add({mask});
      if (parts_.Needs(branch.output_site)) {
        out_.Pass(TracePass::kInputGradient, "dropout", {{mask}, {sum, true}}, {{output, true}});
      }
    }
    out_.Pass(TracePass::kForward, "add", {{output}, {residual_}}, writes);
    residual_ = sum;
    if (!branch.after) return;
    const uint8_t normed = out_.Make(TokenRows::kSequence, hidden());
    out_.Enter("norm");
    out_.AddNorm({.name = branch.after_name,
                  .input = sum,
                  .output = normed,
                  .needed = parts_.Needs(branch.output_site)});
    residual_ = normed;
  }

  const LayerSpec& layer_;
  const LayerNorms& norms_;
  const LayerTraceParts& parts_;
  TraceBuilder& out_;
  uint8_t residual_ = 0;
  uint8_t shared_input_ = 0;  // of parallel branches
};

// The activation function of a feed-forward, between its matrices.
class InnerPasses {
 public:
  InnerPasses(const LayerTraceParts& parts, const InnerTrace& inner)
      : parts_(parts),
        out_(parts.out),
        inner_(inner),
        gated_(inner.kind == FeedForwardKind::kGated),
        up_(out_.Make(inner.rows, inner.width)),
        gate_(gated_ ? out_.Make(inner.rows, inner.width) : up_),
        activated_(out_.Make(inner.rows, inner.width)),
        scaled_(out_.Make(inner.rows, inner.width)),
        result_(out_.Make(inner.rows, inner.width)) {}

  TraceOperands inputs() const {
    return gated_ ? TraceOperands{{gate_}, {up_}} : TraceOperands{{up_}};
  }
  uint8_t result() const { return result_; }

  void AddForward(TracePass pass) {
    if (!inner_.unfused) {
      out_.Pass(pass, "activation", inputs(), {{result_}});
      return;
    }
    if (gated_) out_.Pass(pass, "activation", {{gate_}}, {{activated_}});
    out_.Pass(pass, gated_ ? "multiply" : "activation",
              gated_ ? TraceOperands{{activated_}, {up_}} : TraceOperands{{up_}}, {{scaled_}});
    out_.Pass(pass, "scale", {{scaled_}}, {{result_}});
  }

  void AddBackward() {
    if (!inner_.inner_needs) return;
    TraceOperands gradients;
    for (const TraceOperand& input : inputs()) gradients.Add({input.tensor, true});
    TraceOperands reads = inputs();
    reads.Add({result_, true});
    if (inner_.unfused) {
      if (gated_ && parts_.Needs(inner_.inner_site)) reads.Add({activated_});
      if (inner_.scales) reads.Add({scaled_});
    }
    out_.Pass(TracePass::kInputGradient, "activation", reads, gradients);
  }

 private:
  const LayerTraceParts& parts_;
  TraceBuilder& out_;
  const InnerTrace& inner_;
  const bool gated_;
  const uint8_t up_;
  const uint8_t gate_;
  const uint8_t activated_;
  const uint8_t scaled_;
  const uint8_t result_;
};

}  // namespace

uint8_t AddFeedForwardTrace(const LayerTraceParts& parts, const InnerTrace& inner, uint8_t input) {
  TraceBuilder& out = parts.out;
  InnerPasses passes(parts, inner);
  constexpr absl::string_view kNames[] = {"gate", "up", "down"};
  const bool gated = inner.kind == FeedForwardKind::kGated;
  const bool again = out.batch().recomputation.activation_function;
  Projection projection = {
      .module = inner.module,
      .op = gated ? "gate_up" : "up",
      .names = absl::MakeConstSpan(kNames).first(2),
      .split = MatrixSplit::kRows,
      .component = inner.component,
      .input = input,
      .input_needs_gradient = parts.Needs(inner.input_site),
      .keeps_computed = parts.KeepsComputed(inner.input_site) || inner.input_kept_as_computed,
      .rows = inner.rows,
      .outputs = passes.inputs()};
  out.Enter(inner.module);
  out.AddProjection(projection);
  passes.AddForward(TracePass::kForward);
  passes.AddBackward();
  const TokenRows rows = inner.rows == TokenRows::kSlots ? TokenRows::kSlots : TokenRows::kSequence;
  const uint8_t output =
      out.Make(rows, inner.output_width > 0 ? inner.output_width : out.context().spec.hidden_size);
  projection.op = "down";
  projection.names = absl::MakeConstSpan(kNames).subspan(2);
  projection.split = MatrixSplit::kColumns;
  projection.input = passes.result();
  projection.input_needs_gradient = parts.Needs(inner.inner_site);
  projection.keeps_computed = parts.KeepsComputed(inner.inner_site) || again;
  projection.outputs = {{output}};
  out.AddProjection(projection);
  if (again) out.AddInOrder([&] { passes.AddForward(TracePass::kRecompute); });
  return output;
}

void AppendLayerTrace(const TraceContext& context, const TraceWeights& weights,
                      const TracedLayer& where, Trace& out) {
  const LayerSpec& layer = context.spec.layer_kinds[static_cast<size_t>(where.layer_kind)];
  TraceBuilder builder(context, weights, where.part, out);
  LayerTraceParts parts = {builder};
  if (context.flow != nullptr) {
    parts.gradients = &context.flow->Of(where.part, where.layer_kind, where.state);
  }
  const RecomputePolicy policy = context.batch.recomputation.policy;
  if (policy == RecomputePolicy::kOperators) builder.Save(SavedProducts(layer));
  LayerTrace(layer, parts).Add();
  builder.Finish(RepeatsLayers(policy) && parts.Needs(ActivationSite::kLayerOutput));
}

}  // namespace sextant
