#include "tests/engine/model/flops/random_models.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/model_weights.h"

namespace sextant {

FeedForwardSpec RandomModels::FeedForward() {
  return {.kind = Chance() ? FeedForwardKind::kGated : FeedForwardKind::kPlain,
          .size = Between(1, 7),
          .input_bias = Chance(),
          .output_bias = Chance()};
}

AttentionSpec RandomModels::Attention(AttentionMask mask) {
  AttentionSpec a = {.head_count = 2 * Between(1, 2),
                     .key_value_head_count = Between(1, 2),
                     .query_key_head_size = Between(2, 4),
                     .value_head_size = Between(1, 4),
                     .output_bias = Chance(),
                     .sinks = Chance(4),
                     .mask = mask};
  if (Chance(3)) a.output_gate = Chance() ? OutputGate::kPerHead : OutputGate::kPerChannel;
  if (options_.windows && Chance()) (Chance() ? a.window : a.chunk) = Between(1, 12);
  if (Chance(3)) {
    a.key_value_head_count = a.head_count;
    a.latent = LatentSpec{.query_rank = Between(0, 3),
                          .key_value_rank = Between(1, 3),
                          .rotary_size = Between(0, 1),
                          .down_bias = Chance()};
    return a;
  }
  a.query_bias = Chance();
  a.key_bias = Chance();
  a.value_bias = Chance();
  a.query_key_norm = static_cast<QueryKeyNorm>(Between(0, 2));
  if (a.query_key_norm == QueryKeyNorm::kNone || !Chance(4)) return a;
  a.values_are_keys = true;
  a.value_head_size = a.query_key_head_size;
  a.value_bias = a.key_bias;
  return a;
}

AttentionSpec RandomModels::CrossAttention() {
  AttentionSpec a = Attention(AttentionMask::kFull);
  a.window = a.chunk = 0;
  a.latent.reset();
  a.output_gate = OutputGate::kNone;
  a.values_are_keys = false;
  return a;
}

ExpertsSpec RandomModels::Experts() {
  const int64_t experts = Between(1, 4);
  ExpertsSpec out = {.expert_count = experts,
                     .experts_per_token = Between(1, experts),
                     .expert = FeedForward(),
                     .router_bias = Chance(),
                     .router_correction_bias = Chance(),
                     .latent_size = Chance(3) ? Between(2, 5) : 0,
                     .zero_expert_count = Chance(4) ? Between(1, 2) : 0};
  if (Chance()) return out;
  out.shared_expert_count = Between(1, 2);
  out.shared_expert = FeedForward();
  out.shared_expert_gate = Chance();
  return out;
}

LayerSpec RandomModels::Layer(const std::string& name, AttentionMask mask) {
  LayerSpec layer = {.name = name, .norm = Norm()};
  if (!Chance(8)) layer.attention = Attention(mask);
  if (!Chance(3) || !layer.attention.has_value()) layer.feed_forward = FeedForward();
  if (Chance(3)) layer.experts = Experts();
  const bool feeds = layer.feed_forward.has_value() || layer.experts.has_value();
  layer.norms = {.before_attention = layer.attention.has_value() && Chance(),
                 .after_attention = layer.attention.has_value() && Chance(),
                 .before_feed_forward = feeds && Chance(),
                 .after_feed_forward = feeds && Chance(4)};
  layer.output_scale = Chance(8);
  if (!layer.feed_forward.has_value() || !layer.experts.has_value()) return layer;
  layer.norms.before_sum = Chance();
  layer.norms.before_experts = layer.norms.before_feed_forward &&
                               layer.experts->shared_expert_count == 0 &&
                               layer.experts->latent_size == 0 && Chance();
  return layer;
}

void RandomModels::AddStack(AttentionMask mask, ArchitectureSpec& spec, StackSpec& stack) {
  const int first = static_cast<int>(spec.layer_kinds.size());
  const int kinds = static_cast<int>(Between(1, 2));
  for (int i = 0; i < kinds; ++i) {
    spec.layer_kinds.push_back(Layer(absl::StrCat("kind", first + i), mask));
    stack.layers.push_back({first + i, Between(1, 2)});
  }
  stack.layers.push_back({first, 1});
  stack.learned_position_count = Chance() ? 0 : 64;
  stack.embedding_norm = Chance(3);
  stack.final_norm = Chance();
  if (!Chance(3)) return;
  for (int i = 0; i < kinds; ++i) {  // one table of biases: as many heads in all layers
    LayerSpec& layer = spec.layer_kinds[static_cast<size_t>(first) + static_cast<size_t>(i)];
    if (!layer.attention.has_value()) layer.attention = Attention(mask);
    layer.attention->head_count = 2;
    layer.attention->key_value_head_count = layer.attention->latent.has_value() ? 2 : 1;
  }
  stack.relative_position_bucket_count = Between(1, 5);
}

void RandomModels::AddOutput(ArchitectureSpec& spec) {
  spec.output.pooler = Chance(4);
  spec.output.pooled_class_count = spec.output.pooler && Chance() ? 3 : 0;
  if (Chance(8)) {
    spec.output.head = OutputHeadKind::kNone;
    return;
  }
  spec.output.head = Chance() ? OutputHeadKind::kTied : OutputHeadKind::kUntied;
  spec.output.head_bias = Chance();
  spec.output.transform = Chance(3);
}

// All but one; or often the front of the model, so that gradients start somewhere in the middle.
void RandomModels::FreezeComponents(ArchitectureSpec& spec) {
  int64_t trained = Chance() ? Between(0, kWeightComponentCount - 1) : -1;
  if (trained >= 0 && Chance(3)) trained = static_cast<int64_t>(WeightComponent::kNorm);
  const bool front = Chance();
  for (int i = 0; i < kWeightComponentCount; ++i) {
    const auto component = static_cast<WeightComponent>(i);
    if (component == WeightComponent::kAdapter || i == trained) continue;
    const bool is_front = i <= static_cast<int>(WeightComponent::kEmbeddingProjection) ||
                          component == WeightComponent::kNorm;
    if (trained >= 0 || (is_front ? front || Chance(3) : Chance(4))) {
      spec.frozen_components.push_back(component);
    }
  }
}

void RandomModels::Freeze(ArchitectureSpec& spec) {
  const int one_in = Chance() ? 3 : 1;
  for (StackSpec* stack : {&spec.encoder, &spec.decoder}) {
    for (LayerRun& run : stack->layers) run.frozen = Chance(one_in);
  }
  FreezeComponents(spec);
  if (Chance()) return;
  // Beside any matrices that there are.
  std::set<std::pair<std::string, std::string>> targets;
  const bool fused = Chance();
  const WeightTensors tensors = BaseWeightsOf(spec);
  for (int i = 0; i < 20 && targets.size() < 3; ++i) {
    const WeightTensor& tensor =
        tensors[static_cast<size_t>(Between(0, static_cast<int64_t>(tensors.size()) - 1))];
    const absl::string_view fusion = fused ? FusionOf(tensor) : "";
    const WeightName name = {std::string(tensor.module),
                             std::string(fusion.empty() ? tensor.name : fusion)};
    if (IsTarget(tensor, name)) targets.insert({name.module, name.name});
  }
  if (targets.empty()) return;
  spec.adapters = AdapterSpec{.rank = Between(1, 2)};
  for (const auto& [module, name] : targets) spec.adapters->targets.push_back({module, name});
  spec.base_frozen = Chance();
}

ArchitectureSpec RandomModels::Model() {
  ArchitectureSpec spec;
  spec.hidden_size = Between(2, 9);
  spec.norm = Norm();
  spec.embedding = {.vocabulary_size = Between(2, 20),
                    .embedding_size = Chance() ? 0 : Between(2, 9),
                    .token_type_count = Between(0, 2)};
  if (Chance()) {
    spec.embedding.padded_vocabulary_size = PaddedVocabularySize(spec.embedding.vocabulary_size, 8);
  }
  const int64_t form = Between(0, 3);  // decoders twice as often
  if (form >= 2) AddStack(AttentionMask::kFull, spec, spec.encoder);
  const int first_decoder_kind = static_cast<int>(spec.layer_kinds.size());
  if (form != 2) AddStack(AttentionMask::kCausal, spec, spec.decoder);
  if (form == 3) {
    LayerSpec& crossing = spec.layer_kinds[static_cast<size_t>(first_decoder_kind)];
    crossing.cross_attention = CrossAttention();
    crossing.norms.before_cross_attention = Chance();
    crossing.norms.after_cross_attention = Chance();
  }
  AddOutput(spec);
  if (form < 2 && spec.output.head != OutputHeadKind::kNone && Chance()) {
    spec.multi_token_prediction =
        MultiTokenPredictionSpec{.module_count = Between(1, 3), .final_norm = Chance()};
  }
  if (options_.frozen && Chance()) Freeze(spec);
  return spec;
}

TrainingStepSpec RandomModels::Step(const ArchitectureSpec& spec, int64_t max_length) {
  const bool two_stacks = !spec.encoder.layers.empty() && !spec.decoder.layers.empty();
  TrainingStepSpec step;
  const int64_t groups = Between(1, 3);
  for (int64_t i = 0; i < groups; ++i) {
    step.sequences.push_back({.count = Between(1, 3),
                              .length = Between(1, max_length),
                              .encoder_length = two_stacks ? Between(1, max_length) : 0});
  }
  return step;
}

}  // namespace sextant
