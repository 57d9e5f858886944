// A transformer of any public architecture, as data: kinds of layers, and the kind of each layer.
// Nothing is averaged: a model with two kinds of layers lists both. Sizes count elements.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_ARCHITECTURE_SPEC_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_ARCHITECTURE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/checked_math.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/block/mixer_spec.h"

namespace sextant {

// Norms, by their learned parameters.
enum class NormVariant {
  kUnspecified,
  kLayerNorm,               // a weight and a bias per element
  kBiasFreeLayerNorm,       // a weight per element
  kRmsNorm,                 // a weight per element
  kNonParametricLayerNorm,  // nothing
};

// An indexer scores all positions for each token, and attention sees those with the highest scores
// alone. It reads the compressed queries, and learns by a loss of its own: its inputs get no
// gradient. Source: DeepSeek-AI 2025, DeepSeek-V3.2 (arXiv 2512.02556), section 2.1. A shared one
// is that of an earlier layer, whose choice this layer uses (IndexCache, arXiv 2603.12201;
// GLM-5.2).
struct IndexerSpec {
  int64_t head_count = 0;
  int64_t head_size = 0;
  int64_t chosen_count = 0;  // positions that a token attends to
  bool shared = false;       // without parameters or scores in this layer

  friend bool operator==(const IndexerSpec&, const IndexerSpec&) = default;
};

// Multi-head latent attention: keys and values, and optionally queries, pass through narrow
// latents, each of which is normalised. All heads share one rotary part of the key, which bypasses
// the latent.
struct LatentSpec {
  int64_t query_rank = 0;  // 0: queries are not compressed
  int64_t key_value_rank = 0;
  int64_t rotary_size = 0;  // part of AttentionSpec::query_key_head_size; 0: none
  bool down_bias = false;   // of the projections into the latents
  absl::optional<IndexerSpec> indexer = {};

  friend bool operator==(const LatentSpec&, const LatentSpec&) = default;
};

enum class QueryKeyNorm {
  kNone,
  kPerHead,   // one weight vector of head_size for queries, one for keys
  kAllHeads,  // one over all query heads, one over all key heads
};

// A projection of attention's input whose sigmoid multiplies attention's output before its matrix.
enum class OutputGate {
  kNone,
  kPerChannel,  // a number for each of head_count * value_head_size channels (Qwen3-Next)
  kPerHead,     // one for each head (Step-3.5)
};

enum class AttentionMask { kCausal, kFull };

// Attention of `head_count` query heads over `key_value_head_count` heads: equal numbers are
// multi-head attention, one is multi-query, anything between is grouped-query.
struct AttentionSpec {
  int64_t head_count = 0;
  int64_t key_value_head_count = 0;
  int64_t query_key_head_size = 0;
  int64_t value_head_size = 0;
  absl::optional<LatentSpec> latent = {};
  bool query_bias = false;
  bool key_bias = false;
  bool value_bias = false;
  bool output_bias = false;
  QueryKeyNorm query_key_norm = QueryKeyNorm::kNone;
  NormVariant query_key_norm_variant = NormVariant::kUnspecified;  // kUnspecified: the layer's
  bool sinks = false;  // a learned logit per head that draws attention from all tokens
  OutputGate output_gate = OutputGate::kNone;
  AttentionMask mask = AttentionMask::kCausal;
  int64_t window = 0;  // tokens visible to a query, itself included; 0: all
  int64_t chunk = 0;   // tokens per block that attends only to itself; 0: one block
  // Values have no matrix: they are the keys' projections, with a norm without weights (Gemma 4).
  bool values_are_keys = false;

  friend bool operator==(const AttentionSpec&, const AttentionSpec&) = default;
};

// Rows of the gate's matrix.
inline int64_t OutputGateSize(const AttentionSpec& attention) {
  if (attention.output_gate == OutputGate::kNone) return 0;
  return attention.head_count *
         (attention.output_gate == OutputGate::kPerChannel ? attention.value_head_size : 1);
}

enum class FeedForwardKind {
  kUnspecified,
  kPlain,  // up and down: 2 matrices
  kGated,  // gate, up and down: 3 matrices
};

struct FeedForwardSpec {
  FeedForwardKind kind = FeedForwardKind::kUnspecified;
  int64_t size = 0;
  bool input_bias = false;  // of up, and of gate
  bool output_bias = false;
  int64_t activation_parameter_count = 0;  // learned numbers of the activation function (xIELU)

  friend bool operator==(const FeedForwardSpec&, const FeedForwardSpec&) = default;
};

// A mixture of experts: a router sends each token to `experts_per_token` of `expert_count`
// experts; the shared experts process every token.
struct ExpertsSpec {
  int64_t expert_count = 0;
  int64_t experts_per_token = 0;
  FeedForwardSpec expert = {};
  int64_t shared_expert_count = 0;
  FeedForwardSpec shared_expert = {};  // one of them; given if there are any
  bool shared_expert_gate = false;     // hidden_size weights that scale the shared output
  bool router_bias = false;
  bool router_correction_bias = false;  // updated from expert loads, not by gradients
  // The experts of a token are in at most groups_per_token of group_count equal groups, so that
  // they are on few nodes; 0: anywhere.
  int64_t group_count = 0;
  int64_t groups_per_token = 0;
  // Width of the routed experts' inputs and outputs. A matrix before tokens are sent and one after
  // their sum join it to hidden_size; 0: hidden_size, no matrices (Nemotron 3).
  int64_t latent_size = 0;
  // Experts that return their input: rows of the router alone (LongCat-Flash). experts_per_token is
  // the mean number of others.
  int64_t zero_expert_count = 0;
  bool expert_scales = false;  // a weight on each expert's output (Gemma 4)

  friend bool operator==(const ExpertsSpec&, const ExpertsSpec&) = default;
};

// Elements of a token that the routed experts read and write.
inline int64_t ExpertWidth(const ExpertsSpec& experts, int64_t hidden_size) {
  return experts.latent_size > 0 ? experts.latent_size : hidden_size;
}

// Logits of a router.
inline int64_t RouterSize(const ExpertsSpec& experts) {
  return experts.expert_count + experts.zero_expert_count;
}

// The places where a layer normalises. "Before" is the input of a branch; "after" is its output,
// or the sum of output and residual: the count is the same.
struct LayerNorms {
  bool before_attention = true;
  bool after_attention = false;
  bool before_cross_attention = false;
  bool before_feed_forward = true;
  bool after_feed_forward = false;
  bool after_cross_attention = false;
  // In layers with both a feed-forward and experts: norms of the router's input and of the routed
  // experts', where before_feed_forward is the feed-forward's alone; and norms of the two outputs
  // before their sum (Gemma 4).
  bool before_experts = false;
  bool before_sum = false;

  friend bool operator==(const LayerNorms&, const LayerNorms&) = default;
};

// A layer with both a feed-forward and experts adds their outputs. Parallel branches that share a
// norm have only before_attention. A mixer stands where attention does: the norms of attention are
// its own, and the outputs of a layer with both are added.
struct LayerSpec {
  std::string name;  // "dense", "experts", "sliding"
  NormVariant norm = NormVariant::kUnspecified;
  LayerNorms norms = {};
  absl::optional<AttentionSpec> attention = {};
  absl::optional<MixerSpec> mixer = {};
  absl::optional<AttentionSpec> cross_attention = {};  // over the encoder's output
  absl::optional<FeedForwardSpec> feed_forward = {};
  absl::optional<ExpertsSpec> experts = {};
  bool output_scale = false;  // a number, not trained, that scales the layer's output (Gemma 4)
};

// True where both differ in nothing but their names.
inline bool IsAlike(const LayerSpec& a, const LayerSpec& b) {
  return a.norm == b.norm && a.norms == b.norms && a.attention == b.attention &&
         a.mixer == b.mixer && a.cross_attention == b.cross_attention &&
         a.feed_forward == b.feed_forward && a.experts == b.experts &&
         a.output_scale == b.output_scale;
}

// True where the layer mixes tokens by attention, by a mixer or by both.
inline bool MixesTokens(const LayerSpec& layer) {
  return layer.attention.has_value() || layer.mixer.has_value();
}

// True where a feed-forward in parallel with attention reads the output of attention's norm.
inline bool SharesItsInput(const LayerSpec& layer) {
  return MixesTokens(layer) && !layer.cross_attention.has_value() && layer.norms.before_attention &&
         !layer.norms.after_attention && !layer.norms.before_feed_forward;
}

// `count` consecutive layers of the kind at index `layer_kind` of ArchitectureSpec::layer_kinds.
struct LayerRun {
  int layer_kind = 0;
  int64_t count = 0;
  bool frozen = false;  // not trained, except adapters
};

// An encoder or a decoder, in the order of the forward pass. Without layers: no stack.
struct StackSpec {
  std::vector<LayerRun> layers = {};
  int64_t learned_position_count = 0;
  int64_t first_position = 0;  // table row of a sequence's first token; earlier rows are unused
  int64_t relative_position_bucket_count = 0;  // one table of biases per head for all layers (T5)
  bool embedding_norm = false;
  bool final_norm = true;
};

// The input of every stack. Narrower embeddings are projected to the hidden size, and back before
// the output head.
struct EmbeddingSpec {
  int64_t vocabulary_size = 0;
  int64_t padded_vocabulary_size = 0;  // 0: vocabulary_size
  int64_t embedding_size = 0;          // 0: hidden_size, no projections
  int64_t token_type_count = 0;
};

enum class OutputHeadKind {
  kUnspecified,
  kNone,  // the model ends at its last hidden state
  kTied,  // shares the token embedding's matrix
  kUntied,
};

struct OutputSpec {
  OutputHeadKind head = OutputHeadKind::kUnspecified;
  bool head_bias = false;
  bool transform = false;  // hidden to hidden with a bias and a norm, before the head (BERT)
  bool pooler = false;     // hidden to hidden with a bias, on the first token (BERT)
  int64_t pooled_class_count = 0;  // a classifier with a bias after the pooler
};

// Modules that predict tokens further ahead, each with two norms, a projection from twice the
// hidden size, a layer and a final norm. Embedding and output head are the main model's.
struct MultiTokenPredictionSpec {
  int64_t module_count = 0;
  int layer_kind = 0;
  bool final_norm = true;
};

// A matrix by WeightTensor's module and name: {"attention", "query"}; or several of a module that
// read one tensor, as one: {"attention", "query+key+value"}.
struct WeightName {
  std::string module;
  std::string name;
};

// The module of a WeightName that stands for every matrix inside layers. PEFT's LoraConfig has
// the word, for the linear layers but the output's.
inline constexpr absl::string_view kAllLinear = "all-linear";

// The same, with matrices that FusionOf() names together as one.
inline constexpr absl::string_view kAllFused = "all-fused";

// Low-rank adapters: a rank x columns and a rows x rank matrix for each named matrix, in every
// part of the model that has it. Matrices as one share the rank x columns matrix.
struct AdapterSpec {
  int64_t rank = 0;
  std::vector<WeightName> targets = {};
};

struct ArchitectureSpec {
  int64_t hidden_size = 0;
  NormVariant norm = NormVariant::kUnspecified;  // of the norms outside layers
  EmbeddingSpec embedding = {};
  std::vector<LayerSpec> layer_kinds = {};
  StackSpec encoder = {};
  StackSpec decoder = {};
  OutputSpec output = {};
  absl::optional<MultiTokenPredictionSpec> multi_token_prediction = {};
  absl::optional<AdapterSpec> adapters = {};
  bool base_frozen = false;  // only adapters are trained
  std::vector<WeightComponent> frozen_components = {};
};

// True where the model has both an encoder and a decoder.
inline bool HasTwoStacks(const ArchitectureSpec& spec) {
  return !spec.encoder.layers.empty() && !spec.decoder.layers.empty();
}

// `vocabulary_size` rounded up to a multiple of `multiple`, both at least 1.
constexpr int64_t PaddedVocabularySize(int64_t vocabulary_size, int64_t multiple) {
  return CeilDivide(vocabulary_size, multiple) * multiple;
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_ARCHITECTURE_SPEC_H_
