#include "tests/engine/model/architecture/architectures.h"
#include "tests/engine/model/architecture/published_architectures.h"

namespace sextant {
namespace {

struct MixtureSizes {
  int64_t hidden;
  int64_t vocabulary;
  int64_t layers;
};

LayerSpec ExpertLayer(const AttentionSpec& attention, const ExpertsSpec& experts) {
  return {
      .name = "experts", .norm = NormVariant::kRmsNorm, .attention = attention, .experts = experts};
}

// Equal layers, RMSNorm and an untied head.
ArchitectureSpec Mixture(const MixtureSizes& sizes, const LayerSpec& layer) {
  ArchitectureSpec spec;
  spec.hidden_size = sizes.hidden;
  spec.norm = layer.norm;
  spec.embedding.vocabulary_size = sizes.vocabulary;
  spec.layer_kinds = {layer};
  spec.decoder.layers = {{.layer_kind = 0, .count = sizes.layers}};
  spec.output.head = OutputHeadKind::kUntied;
  return spec;
}

// Keys of 128 plain and 64 rotary features, values of 128, latents of 512.
AttentionSpec DeepSeekAttention(int64_t head_count, int64_t query_rank) {
  AttentionSpec attention = Heads(head_count, head_count, 192);
  attention.value_head_size = 128;
  attention.latent = LatentSpec{.query_rank = query_rank, .key_value_rank = 512, .rotary_size = 64};
  return attention;
}

// The first `dense_layers` of `sizes.layers` layers have a feed-forward of `dense_size`.
ArchitectureSpec DeepSeek(const MixtureSizes& sizes, const LayerSpec& experts, int64_t dense_layers,
                          int64_t dense_size) {
  ArchitectureSpec spec = Mixture(sizes, experts);
  spec.layer_kinds.push_back(DenseLayer(*experts.attention, Gated(dense_size)));
  spec.decoder.layers = {{.layer_kind = 1, .count = dense_layers},
                         {.layer_kind = 0, .count = sizes.layers - dense_layers}};
  return spec;
}

ArchitectureSpec DeepSeekV2() {
  return DeepSeek({.hidden = 5120, .vocabulary = 102400, .layers = 60},
                  ExpertLayer(DeepSeekAttention(128, 1536), {.expert_count = 160,
                                                             .experts_per_token = 6,
                                                             .expert = Gated(1536),
                                                             .shared_expert_count = 2,
                                                             .shared_expert = Gated(1536)}),
                  1, 12288);
}

ArchitectureSpec DeepSeekV2Lite() {
  return DeepSeek({.hidden = 2048, .vocabulary = 102400, .layers = 27},
                  ExpertLayer(DeepSeekAttention(16, 0), {.expert_count = 64,
                                                         .experts_per_token = 6,
                                                         .expert = Gated(1408),
                                                         .shared_expert_count = 2,
                                                         .shared_expert = Gated(1408)}),
                  1, 10944);
}

ArchitectureSpec QwenMoe() {
  AttentionSpec attention = Heads(16, 16, 128);
  attention.query_bias = attention.key_bias = attention.value_bias = true;
  return Mixture({.hidden = 2048, .vocabulary = 151936, .layers = 24},
                 ExpertLayer(attention, {.expert_count = 60,
                                         .experts_per_token = 4,
                                         .expert = Gated(1408),
                                         .shared_expert_count = 1,
                                         .shared_expert = Gated(5632),
                                         .shared_expert_gate = true}));
}

ArchitectureSpec Qwen3Moe() {
  AttentionSpec attention = Heads(32, 4, 128);
  attention.query_key_norm = QueryKeyNorm::kPerHead;
  return Mixture(
      {.hidden = 2048, .vocabulary = 151936, .layers = 48},
      ExpertLayer(attention, {.expert_count = 128, .experts_per_token = 8, .expert = Gated(768)}));
}

ArchitectureSpec OlMoe() {
  AttentionSpec attention = Heads(16, 16, 128);
  attention.query_key_norm = QueryKeyNorm::kAllHeads;
  return Mixture(
      {.hidden = 2048, .vocabulary = 50304, .layers = 16},
      ExpertLayer(attention, {.expert_count = 64, .experts_per_token = 8, .expert = Gated(1024)}));
}

ArchitectureSpec Dbrx() {
  LayerSpec layer = ExpertLayer(
      Heads(48, 8, 128), {.expert_count = 16, .experts_per_token = 4, .expert = Gated(10752)});
  layer.norm = NormVariant::kBiasFreeLayerNorm;
  return Mixture({.hidden = 6144, .vocabulary = 100352, .layers = 40}, layer);
}

// Layers alternate between a window of 128 tokens and all of them.
ArchitectureSpec GptOss(int64_t layers, int64_t expert_count) {
  AttentionSpec attention = Heads(64, 8, 64);
  attention.query_bias = attention.key_bias = attention.value_bias = true;
  attention.output_bias = attention.sinks = true;
  FeedForwardSpec expert = Gated(2880);
  expert.input_bias = expert.output_bias = true;
  LayerSpec full = ExpertLayer(attention, {.expert_count = expert_count,
                                           .experts_per_token = 4,
                                           .expert = expert,
                                           .router_bias = true});
  full.name = "full";
  ArchitectureSpec spec = Mixture({.hidden = 2880, .vocabulary = 201088, .layers = layers}, full);
  spec.layer_kinds.push_back(full);
  spec.layer_kinds[1].name = "sliding";
  spec.layer_kinds[1].attention->window = 128;
  spec.decoder.layers.clear();
  for (int64_t i = 0; i < layers; ++i) {
    spec.decoder.layers.push_back({.layer_kind = i % 2 == 0 ? 1 : 0, .count = 1});
  }
  return spec;
}

ArchitectureSpec Mixtral(const MixtureSizes& sizes, int64_t head_count, int64_t size) {
  return Mixture(sizes,
                 ExpertLayer(Heads(head_count, 8, 128),
                             {.expert_count = 8, .experts_per_token = 2, .expert = Gated(size)}));
}

}  // namespace

ArchitectureSpec DeepSeekV3() {
  return DeepSeek({.hidden = 7168, .vocabulary = 129280, .layers = 61},
                  ExpertLayer(DeepSeekAttention(128, 1536), {.expert_count = 256,
                                                             .experts_per_token = 8,
                                                             .expert = Gated(2048),
                                                             .shared_expert_count = 1,
                                                             .shared_expert = Gated(2048),
                                                             .router_correction_bias = true}),
                  3, 18432);
}

// Totals with an id were read in public text of the search index under that id.
std::vector<PublishedArchitecture> PublishedMixtures() {
  return {
      // Reference case D, reconciled with other implementations.
      {"mixtral-8x7b", Mixtral({.hidden = 4096, .vocabulary = 32000, .layers = 32}, 32, 14336),
       46'702'792'704, 12'879'925'248},
      // Id 69468411049.
      {"mixtral-8x22b", Mixtral({.hidden = 6144, .vocabulary = 32000, .layers = 56}, 48, 16384),
       140'620'634'112},
      // Golden row deepseek-v2-total-params.
      {"deepseek-v2", DeepSeekV2(), 235'741'434'880},
      // Id 69468411049.
      {"deepseek-v2-lite", DeepSeekV2Lite(), 15'706'484'224},
      // Id 70123698298, a sum over the checkpoint's tensors.
      {"deepseek-v3", DeepSeekV3(), 671'026'419'200},
      // Id 583820047.
      {"qwen1.5-moe-a2.7b", QwenMoe(), 14'315'784'192},
      // Id 71168542752.
      {"qwen3-30b-a3b", Qwen3Moe(), 30'532'122'624, 3'353'032'704},
      // Id 65753564317, a sum over the checkpoint's tensors.
      {"olmoe-1b-7b", OlMoe(), 6'919'161'856},
      // From memory.
      {"dbrx", Dbrx(), 131'596'523'520},
      // Id 71142266638.
      {"gpt-oss-20b", GptOss(24, 32), 20'914'757'184},
      {"gpt-oss-120b", GptOss(36, 128), 116'829'156'672},
  };
}

}  // namespace sextant
