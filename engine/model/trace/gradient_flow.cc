#include "engine/model/trace/gradient_flow.h"

#include <algorithm>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/model/architecture/model_weights.h"

namespace sextant {
namespace {

using A = ActivationSite;

bool IsProduct(const WeightTensor& tensor) {
  return tensor.role != WeightRole::kBias && tensor.component != WeightComponent::kNorm &&
         tensor.component != WeightComponent::kAttentionSinks;
}

}  // namespace

// Finds the trained matrices in the list of parameter tensors.
class GradientFlowBuilder {
 public:
  GradientFlowBuilder(const ArchitectureSpec& spec, GradientFlow& out)
      : spec_(spec), tensors_(WeightsOf(spec)), out_(out) {
    for (size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].layer_kind < 0) ends_.push_back(&tensors_[i]);
    }
  }

  void Build() {
    const bool tokens = Trains(ModelPart::kInput, "token_embedding") ||
                        Trains(ModelPart::kInput, "token_type_embedding");
    const bool embeds = tokens || Trains(ModelPart::kInput, "embedding_projection", "into");
    EndGradients& ends = out_.ends_;
    const MatmulUse table = UseOf(ModelPart::kInput, "token_embedding", "", tokens);
    ends.ids_kept = table.trained || table.adapters > 0;
    ends.token_embedding_adapters = table.adapters;
    ends.projection_into = UseOf(ModelPart::kInput, "embedding_projection", "into", tokens);
    bool needs = false;
    if (!spec_.encoder.layers.empty()) {
      needs = BuildStack(ModelPart::kEncoder, spec_.encoder, embeds, false, out_.encoder_);
    }
    if (!spec_.decoder.layers.empty()) {
      needs = BuildStack(ModelPart::kDecoder, spec_.decoder, embeds, needs, out_.decoder_);
    }
    BuildOutput(needs);
    if (spec_.multi_token_prediction.has_value()) BuildModules(needs, embeds);
  }

 private:
  bool Trains(ModelPart part, absl::string_view module, absl::string_view name = "") const {
    return std::any_of(ends_.begin(), ends_.end(), [&](const WeightTensor* t) {
      return t->part == part && t->module == module && t->name == name && IsTrained(*t, false);
    });
  }

  // How a matrix outside layers and its adapter use their input.
  MatmulUse UseOf(ModelPart part, absl::string_view module, absl::string_view name,
                  bool needs) const {
    MatmulUse use = {.trained = false, .needs_gradient = needs};
    for (const WeightTensor* t : ends_) {
      if (t->part != part || t->module != module || t->name != name) continue;
      if (t->role == WeightRole::kAdapterDown) ++use.adapters;
      if (t->role == WeightRole::kWeight && IsTrained(*t, false)) use.trained = true;
    }
    return use;
  }

  // The tensors of a kind of layer in a part, which are adjacent: the first ones from `from` on.
  // Advances `from` past them.
  absl::Span<const WeightTensor> TensorsOf(ModelPart part, int kind, size_t& from) const {
    const auto is_of = [&](const WeightTensor& t) {
      return t.part == part && t.layer_kind == kind;
    };
    size_t end = from;
    while (end < tensors_.size() && is_of(tensors_[end])) ++end;
    const auto out = absl::MakeConstSpan(tensors_).subspan(from, end - from);
    from = end;
    return out;
  }

  LayerGradients LayerOf(ModelPart part, int kind, absl::Span<const WeightTensor> tensors,
                         const LayerGradientState& state, bool encoder_needs) const {
    const LayerSpec& layer = spec_.layer_kinds[static_cast<size_t>(kind)];
    LayerGradients out;
    ActivationSet known;
    if (state.input_needs_gradient) known = known | A::kLayerInput;
    if (layer.cross_attention.has_value() && encoder_needs) known = known | A::kEncoderOutput;
    if (layer.attention.has_value() && Trains(part, "relative_position_bias")) {
      known = known | A::kScores;
    }
    for (const WeightTensor& tensor : tensors) {
      if (!IsTrained(tensor, state.frozen)) continue;
      const WeightSite site = SiteOf(tensor);
      known = known | MadeBy(tensor, layer);
      if (tensor.module == "router" && tensor.name.empty()) out.router_needs = true;
      if (tensor.name == "token_gate") out.token_gate_needs = true;
      if (!IsProduct(tensor)) continue;
      if (tensor.role == WeightRole::kWeight) out.trained = out.trained | site.reads;
      if (tensor.role == WeightRole::kAdapterDown) ++out.adapters[static_cast<size_t>(site.reads)];
    }
    out.needs = NeedGradient(known, layer);
    out.router_needs = out.router_needs || out.needs.Has(A::kFeedForwardInput);
    out.token_gate_needs = out.token_gate_needs || out.needs.Has(A::kFeedForwardInput);
    return out;
  }

  void FillKinds(ModelPart part, bool encoder_needs) {
    const auto in_layer = [part](const WeightTensor& t) {
      return t.part == part && t.layer_kind >= 0;
    };
    auto from = static_cast<size_t>(std::find_if(tensors_.begin(), tensors_.end(), in_layer) -
                                    tensors_.begin());
    for (size_t kind = 0; kind < spec_.layer_kinds.size(); ++kind) {
      const int k = static_cast<int>(kind);
      const absl::Span<const WeightTensor> tensors = TensorsOf(part, k, from);
      for (const bool frozen : {false, true}) {
        for (const bool needs : {false, true}) {
          const LayerGradientState state = {frozen, needs};
          out_.layers_[out_.IndexOf(part, k, state)] =
              LayerOf(part, k, tensors, state, encoder_needs);
        }
      }
    }
  }

  // Returns true where the stack's output needs a gradient.
  bool BuildStack(ModelPart part, const StackSpec& stack, bool embeds, bool encoder_needs,
                  StackGradients& out) {
    FillKinds(part, encoder_needs);
    out.positions_need = embeds || Trains(part, "position_embedding");
    out.embedding_norm_needs = out.positions_need || Trains(part, "norm", "embedding");
    out.embedding_needs = out.embedding_norm_needs;
    bool needs = out.embedding_needs;
    for (const LayerRun& run : stack.layers) {
      if (needs) break;
      const LayerGradientState state = {.frozen = run.frozen, .input_needs_gradient = false};
      needs = out_.Of(part, run.layer_kind, state).needs.Has(A::kLayerOutput);
      if (!needs) out.first_layer += run.count;
    }
    out.output_needs = needs;
    out.final_norm_needs = needs || Trains(part, "norm", "final");
    return out.final_norm_needs;
  }

  MatmulUse HeadOf(bool needs) const {
    const bool tied = spec_.output.head == OutputHeadKind::kTied;
    MatmulUse use = UseOf(ModelPart::kOutput, "output_head", "", needs);
    if (!tied) return use;
    use = UseOf(ModelPart::kInput, "token_embedding", "", needs);
    use.adapters = 0;  // they apply to the lookup
    return use;
  }

  void BuildOutput(bool needs) {
    EndGradients& ends = out_.ends_;
    const ModelPart part = ModelPart::kOutput;
    ends.pooler = UseOf(part, "pooler", "", needs);
    ends.classifier = UseOf(part, "pooler", "classifier", needs || Trains(part, "pooler"));
    ends.transform = UseOf(part, "output_transform", "", needs);
    const bool transformed = needs || Trains(part, "output_transform");
    ends.transform_output_needs = transformed || Trains(part, "output_transform", "norm");
    ends.projection_out =
        UseOf(part, "embedding_projection", "out_of", ends.transform_output_needs);
    ends.head =
        HeadOf(ends.transform_output_needs || Trains(part, "embedding_projection", "out_of"));
  }

  void BuildModules(bool needs, bool embeds) {
    const ModelPart part = ModelPart::kMultiTokenPrediction;
    ModuleGradients& out = out_.modules_;
    FillKinds(part, false);
    const int kind = spec_.multi_token_prediction->layer_kind;
    const auto trains = [&](absl::string_view name) { return Trains(part, "norm", name); };
    // If a module trains anything, the hidden state of the next one needs a gradient.
    const bool chained = spec_.multi_token_prediction->module_count > 1 &&
                         (trains("token") || trains("hidden") || Trains(part, "projection") ||
                          out_.Of(part, kind, {false, false}).needs.Has(A::kLayerOutput));
    const bool hidden = needs || chained;
    out.token_norm = embeds || trains("token");
    out.hidden_norm = hidden || trains("hidden");
    const bool joined = out.token_norm || out.hidden_norm;
    out.projection = UseOf(part, "projection", "", joined);
    out.layer_input = joined || Trains(part, "projection");
    const bool behind = out_.Of(part, kind, {false, out.layer_input}).needs.Has(A::kLayerOutput);
    out.final_norm = behind || trains("final");
    out.head = HeadOf(out.final_norm);
  }

  const ArchitectureSpec& spec_;
  const WeightTensors tensors_;
  std::vector<const WeightTensor*> ends_;  // of tensors_: those in no layer
  GradientFlow& out_;
};

GradientFlow::GradientFlow(const ArchitectureSpec& spec)
    : kind_count_(spec.layer_kinds.size()),
      adapter_rank_(spec.adapters.has_value() ? spec.adapters->rank : 0),
      layers_(3 * kind_count_ * kLayerGradientStateCount) {
  GradientFlowBuilder(spec, *this).Build();
}

bool TrainsEverything(const ArchitectureSpec& spec) {
  const auto frozen = [](const StackSpec& stack) {
    return std::any_of(stack.layers.begin(), stack.layers.end(),
                       [](const LayerRun& run) { return run.frozen; });
  };
  return !spec.base_frozen && spec.frozen_components.empty() && !spec.adapters.has_value() &&
         !frozen(spec.encoder) && !frozen(spec.decoder);
}

}  // namespace sextant
