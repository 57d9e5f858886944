#include "tests/golden/reference_models.h"

#include <stdexcept>

namespace sextant {
namespace {

// Biases and learned positions change no product; norms are of the checkpoint.
ArchitectureSpec Gpt3() {
  ArchitectureSpec spec = DecoderOf({.layers = 96,
                                     .hidden = 12288,
                                     .heads = 96,
                                     .key_value_heads = 96,
                                     .kind = FeedForwardKind::kPlain,
                                     .feed_forward = 49152,
                                     .vocabulary = 50257,
                                     .tied = true});
  LayerSpec& layer = spec.layer_kinds[0];
  spec.norm = layer.norm = NormVariant::kLayerNorm;
  AttentionSpec& attention = *layer.attention;
  attention.query_bias = attention.key_bias = attention.value_bias = attention.output_bias = true;
  layer.feed_forward->input_bias = layer.feed_forward->output_bias = true;
  spec.embedding.padded_vocabulary_size = PaddedVocabularySize(50257, 1024);
  spec.decoder.learned_position_count = 2048;
  return spec;
}

ArchitectureSpec Mixtral() {
  ArchitectureSpec spec = DecoderOf({.layers = 32,
                                     .hidden = 4096,
                                     .heads = 32,
                                     .key_value_heads = 8,
                                     .kind = FeedForwardKind::kGated,
                                     .feed_forward = 14336,
                                     .vocabulary = 32000});
  LayerSpec& layer = spec.layer_kinds[0];
  layer.experts =
      ExpertsSpec{.expert_count = 8, .experts_per_token = 2, .expert = *layer.feed_forward};
  layer.feed_forward.reset();
  return spec;
}

}  // namespace

ArchitectureSpec DecoderOf(const DecoderShape& shape) {
  ArchitectureSpec spec;
  spec.hidden_size = shape.hidden;
  spec.norm = NormVariant::kRmsNorm;
  spec.embedding.vocabulary_size = shape.vocabulary;
  spec.layer_kinds = {
      {.name = "layer",
       .norm = NormVariant::kRmsNorm,
       .attention = AttentionSpec{.head_count = shape.heads,
                                  .key_value_head_count = shape.key_value_heads,
                                  .query_key_head_size = shape.hidden / shape.heads,
                                  .value_head_size = shape.hidden / shape.heads},
       .feed_forward = FeedForwardSpec{.kind = shape.kind, .size = shape.feed_forward}}};
  spec.decoder.layers = {{.layer_kind = 0, .count = shape.layers}};
  spec.output.head = shape.tied ? OutputHeadKind::kTied : OutputHeadKind::kUntied;
  return spec;
}

ArchitectureSpec ReferenceModel(const std::string& name) {
  if (name == "A") return Gpt3();
  if (name == "D") return Mixtral();
  DecoderShape shape = {.layers = 32,
                        .hidden = 4096,
                        .heads = 32,
                        .key_value_heads = 32,
                        .kind = FeedForwardKind::kGated,
                        .feed_forward = 11008,
                        .vocabulary = 32000};
  if (name == "B") return DecoderOf(shape);
  if (name != "C") throw std::out_of_range("no case " + name);
  shape = {.layers = 80,
           .hidden = 8192,
           .heads = 64,
           .key_value_heads = 8,
           .kind = FeedForwardKind::kGated,
           .feed_forward = 28672,
           .vocabulary = 128256};
  return DecoderOf(shape);
}

TrainingStepSpec OneSequence(int64_t length) { return {.sequences = {{1, length}}}; }

}  // namespace sextant
