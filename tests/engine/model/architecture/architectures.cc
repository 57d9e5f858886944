#include "tests/engine/model/architecture/architectures.h"

namespace sextant {

AttentionSpec Heads(int64_t head_count, int64_t key_value_head_count, int64_t head_size) {
  return {.head_count = head_count,
          .key_value_head_count = key_value_head_count,
          .query_key_head_size = head_size,
          .value_head_size = head_size};
}

FeedForwardSpec Gated(int64_t size) { return {.kind = FeedForwardKind::kGated, .size = size}; }

FeedForwardSpec Plain(int64_t size) {
  return {.kind = FeedForwardKind::kPlain, .size = size, .input_bias = true, .output_bias = true};
}

LayerSpec DenseLayer(const AttentionSpec& attention, const FeedForwardSpec& feed_forward) {
  return {.name = "dense",
          .norm = NormVariant::kRmsNorm,
          .attention = attention,
          .feed_forward = feed_forward};
}

ArchitectureSpec SmallDecoder() {
  ArchitectureSpec spec;
  spec.hidden_size = 8;
  spec.norm = NormVariant::kRmsNorm;
  spec.embedding.vocabulary_size = 100;
  spec.layer_kinds = {DenseLayer(Heads(4, 2, 2), Gated(32))};
  spec.decoder.layers = {{.layer_kind = 0, .count = 2}};
  spec.output.head = OutputHeadKind::kUntied;
  return spec;
}

ArchitectureSpec SmallMixture() {
  ArchitectureSpec spec = SmallDecoder();
  LayerSpec& layer = spec.layer_kinds[0];
  layer.name = "experts";
  layer.feed_forward.reset();
  layer.experts = ExpertsSpec{.expert_count = 4, .experts_per_token = 2, .expert = Gated(3)};
  return spec;
}

ArchitectureSpec SmallEncoderDecoder() {
  ArchitectureSpec spec = SmallDecoder();
  LayerSpec encoder = DenseLayer(Heads(4, 4, 2), Gated(32));
  encoder.name = "encoder";
  encoder.attention->mask = AttentionMask::kFull;
  LayerSpec decoder = DenseLayer(Heads(4, 4, 2), Gated(32));
  decoder.name = "decoder";
  decoder.cross_attention = encoder.attention;
  decoder.norms.before_cross_attention = true;
  spec.layer_kinds = {encoder, decoder};
  spec.encoder.layers = {{.layer_kind = 0, .count = 1}};
  spec.decoder.layers = {{.layer_kind = 1, .count = 1}};
  return spec;
}

}  // namespace sextant
