#include "tests/engine/model/architecture/architectures.h"
#include "tests/engine/model/architecture/published_architectures.h"

namespace sextant {
namespace {

// A decoder of equal layers.
ArchitectureSpec Decoder(int64_t hidden_size, int64_t layers, const LayerSpec& layer) {
  ArchitectureSpec spec;
  spec.hidden_size = hidden_size;
  spec.norm = layer.norm;
  spec.layer_kinds = {layer};
  spec.decoder.layers = {{.layer_kind = 0, .count = layers}};
  spec.output.head = OutputHeadKind::kTied;
  return spec;
}

void SetBiases(AttentionSpec& attention) {
  attention.query_bias = attention.key_bias = attention.value_bias = true;
  attention.output_bias = true;
}

// One norm before attention and feed-forward in parallel; a bias on the head.
ArchitectureSpec GptJ() {
  LayerSpec layer = DenseLayer(Heads(16, 16, 256), Plain(16384));
  layer.norm = NormVariant::kLayerNorm;
  layer.norms.before_feed_forward = false;
  ArchitectureSpec spec = Decoder(4096, 28, layer);
  spec.embedding.vocabulary_size = 50400;
  spec.output = {.head = OutputHeadKind::kUntied, .head_bias = true};
  return spec;
}

// Multi-query attention, no biases, and a norm for both branches.
ArchitectureSpec Falcon7b() {
  LayerSpec layer = DenseLayer(Heads(71, 1, 64), {.kind = FeedForwardKind::kPlain, .size = 18176});
  layer.norm = NormVariant::kLayerNorm;
  layer.norms.before_feed_forward = false;
  ArchitectureSpec spec = Decoder(4544, 32, layer);
  spec.embedding.vocabulary_size = 65024;
  return spec;
}

// Biases everywhere and a norm of the embeddings.
ArchitectureSpec Bloom560m() {
  LayerSpec layer = DenseLayer(Heads(16, 16, 64), Plain(4096));
  layer.norm = NormVariant::kLayerNorm;
  SetBiases(*layer.attention);
  ArchitectureSpec spec = Decoder(1024, 24, layer);
  spec.embedding.vocabulary_size = 250880;
  spec.decoder.embedding_norm = true;
  return spec;
}

// One norm without a bias for both branches.
ArchitectureSpec CommandR() {
  LayerSpec layer = DenseLayer(Heads(64, 64, 128), Gated(22528));
  layer.norm = NormVariant::kBiasFreeLayerNorm;
  layer.norms.before_feed_forward = false;
  ArchitectureSpec spec = Decoder(8192, 40, layer);
  spec.embedding.vocabulary_size = 256000;
  return spec;
}

// Norms after the branches, none at the end, and an embedding half as wide as the layers.
ArchitectureSpec Opt350m() {
  LayerSpec layer = DenseLayer(Heads(16, 16, 64), Plain(4096));
  layer.norm = NormVariant::kLayerNorm;
  layer.norms = {.before_attention = false,
                 .after_attention = true,
                 .before_feed_forward = false,
                 .after_feed_forward = true};
  SetBiases(*layer.attention);
  ArchitectureSpec spec = Decoder(1024, 24, layer);
  spec.embedding = {.vocabulary_size = 50272, .embedding_size = 512};
  spec.decoder.learned_position_count = 2050;
  spec.decoder.final_norm = false;
  return spec;
}

// Sandwich norms, a norm of each head, and five layers with a window for each without.
ArchitectureSpec Gemma3OneB() {
  LayerSpec full = DenseLayer(Heads(4, 1, 256), Gated(6912));
  full.attention->query_key_norm = QueryKeyNorm::kPerHead;
  full.norms.after_attention = full.norms.after_feed_forward = true;
  ArchitectureSpec spec = Decoder(1152, 26, full);
  spec.embedding.vocabulary_size = 262144;
  spec.layer_kinds.push_back(full);
  spec.layer_kinds[1].name = "sliding";
  spec.layer_kinds[1].attention->window = 512;
  spec.decoder.layers.clear();
  for (int i = 0; i < 26; ++i) {
    spec.decoder.layers.push_back({.layer_kind = i % 6 == 5 ? 0 : 1, .count = 1});
  }
  return spec;
}

}  // namespace

// Totals with an id were read in public text of the search index under that id.
std::vector<PublishedArchitecture> PublishedDecoders() {
  return {
      // Id 37133021827.
      {"gpt-j-6b", GptJ(), 6'050'882'784},
      // From memory.
      {"falcon-7b", Falcon7b(), 6'921'720'704},
      // Id 9714058014.
      {"bloom-560m", Bloom560m(), 559'214'592},
      // From memory.
      {"command-r", CommandR(), 34'980'831'232},
      // tests/golden/model_presets.csv.
      {"opt-350m", Opt350m(), 331'196'416},
      // Id 59172823075.
      {"gemma-3-1b", Gemma3OneB(), 999'885'952},
  };
}

}  // namespace sextant
