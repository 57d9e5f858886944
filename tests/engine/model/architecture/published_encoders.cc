#include "tests/engine/model/architecture/architectures.h"
#include "tests/engine/model/architecture/published_architectures.h"

namespace sextant {
namespace {

// Norms after the branches, biases everywhere, two token types, and a pooler.
ArchitectureSpec Bert(int64_t hidden_size, int64_t layers, int64_t vocabulary_size) {
  LayerSpec layer =
      DenseLayer(Heads(hidden_size / 64, hidden_size / 64, 64), Plain(4 * hidden_size));
  layer.norm = NormVariant::kLayerNorm;
  layer.norms = {.before_attention = false,
                 .after_attention = true,
                 .before_feed_forward = false,
                 .after_feed_forward = true};
  AttentionSpec& attention = *layer.attention;
  attention.mask = AttentionMask::kFull;
  attention.query_bias = attention.key_bias = attention.value_bias = true;
  attention.output_bias = true;
  ArchitectureSpec spec;
  spec.hidden_size = hidden_size;
  spec.norm = NormVariant::kLayerNorm;
  spec.embedding = {.vocabulary_size = vocabulary_size, .token_type_count = 2};
  spec.layer_kinds = {layer};
  spec.encoder = {.layers = {{.layer_kind = 0, .count = layers}},
                  .learned_position_count = 512,
                  .embedding_norm = true,
                  .final_norm = false};
  spec.output = {.head = OutputHeadKind::kNone, .pooler = true};
  return spec;
}

ArchitectureSpec WithOutput(ArchitectureSpec spec, const OutputSpec& output) {
  spec.output = output;
  return spec;
}

struct T5Sizes {
  int64_t hidden;
  int64_t layers;  // of each stack
  int64_t heads;
  FeedForwardSpec feed_forward = {};
};

// No biases, RMSNorm, a table of 32 relative positions a stack.
ArchitectureSpec T5(const T5Sizes& sizes, OutputHeadKind head) {
  LayerSpec encoder = DenseLayer(Heads(sizes.heads, sizes.heads, 64), sizes.feed_forward);
  encoder.name = "encoder";
  encoder.attention->mask = AttentionMask::kFull;
  LayerSpec decoder = DenseLayer(Heads(sizes.heads, sizes.heads, 64), sizes.feed_forward);
  decoder.name = "decoder";
  decoder.cross_attention = encoder.attention;
  decoder.norms.before_cross_attention = true;
  ArchitectureSpec spec;
  spec.hidden_size = sizes.hidden;
  spec.norm = NormVariant::kRmsNorm;
  spec.embedding.vocabulary_size = 32128;
  spec.layer_kinds = {encoder, decoder};
  spec.encoder = {.layers = {{.layer_kind = 0, .count = sizes.layers}},
                  .relative_position_bucket_count = 32};
  spec.decoder = {.layers = {{.layer_kind = 1, .count = sizes.layers}},
                  .relative_position_bucket_count = 32};
  spec.output.head = head;
  return spec;
}

FeedForwardSpec Ungated(int64_t size) { return {.kind = FeedForwardKind::kPlain, .size = size}; }

}  // namespace

ArchitectureSpec FlanT5Small() {
  return T5({.hidden = 512, .layers = 8, .heads = 6, .feed_forward = Gated(1024)},
            OutputHeadKind::kUntied);
}

// Totals with an id were read in public text of the search index under that id.
std::vector<PublishedArchitecture> PublishedEncoders() {
  return {
      // Id 2228351197.
      {"bert-base-uncased", Bert(768, 12, 30522), 109'482'240},
      {"bert-base-cased", Bert(768, 12, 28996), 108'310'272},
      {"bert-large-uncased", Bert(1024, 24, 30522), 335'141'888},
      {"bert-large-cased", Bert(1024, 24, 28996), 333'579'264},
      // Id 25387056261.
      {"bert-base-uncased for masked tokens",
       WithOutput(Bert(768, 12, 30522),
                  {.head = OutputHeadKind::kTied, .head_bias = true, .transform = true}),
       109'514'298},
      // Id 24459764405.
      {"bert-base-uncased for pre-training",
       WithOutput(Bert(768, 12, 30522), {.head = OutputHeadKind::kTied,
                                         .head_bias = true,
                                         .transform = true,
                                         .pooler = true,
                                         .pooled_class_count = 2}),
       110'106'428},
      // Id 21814615183.
      {"t5-small",
       T5({.hidden = 512, .layers = 6, .heads = 8, .feed_forward = Ungated(2048)},
          OutputHeadKind::kTied),
       60'506'624},
      // Id 11979760818.
      {"t5-base",
       T5({.hidden = 768, .layers = 12, .heads = 12, .feed_forward = Ungated(3072)},
          OutputHeadKind::kTied),
       222'903'552},
      // Id 33397144715.
      {"flan-t5-small", FlanT5Small(), 76'961'152},
  };
}

}  // namespace sextant
