// A decoder as filled in by the readers of config.json families: the properties that all its
// layers share, and those that differ.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_DECODER_DRAFT_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_DECODER_DRAFT_H_

#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

// Only before attention: parallel branches after one norm.
inline constexpr LayerNorms kOneNorm = {.before_feed_forward = false};
// Only after the branches.
inline constexpr LayerNorms kNormsAfter = {.before_attention = false,
                                           .after_attention = true,
                                           .before_feed_forward = false,
                                           .after_feed_forward = true};
inline constexpr LayerNorms kNormsAround = {.after_attention = true, .after_feed_forward = true};

// The properties that a family's models share, or the defaults of their options: Llama's style.
struct DecoderStyle {
  NormVariant norm = NormVariant::kRmsNorm;
  LayerNorms norms = {};
  bool embedding_norm = false;
  bool final_norm = true;
  FeedForwardKind feed_forward = FeedForwardKind::kGated;
  QueryKeyNorm query_key_norm = QueryKeyNorm::kNone;
  NormVariant query_key_norm_variant = NormVariant::kRmsNorm;  // if there is one
  bool query_key_value_bias = false;
  bool attention_output_bias = false;
  bool feed_forward_bias = false;
  OutputGate output_gate = OutputGate::kNone;
  int64_t activation_parameter_count = 0;
  bool head_bias = false;
  bool tied = false;
};

// The tokens that a layer attends to.
enum class LayerSpan : uint8_t { kAll, kWindow, kChunk };

// The branches of a layer.
struct LayerParts {
  bool attention = true;
  bool mixer = false;
  bool feeds = true;  // a feed-forward, experts, or both

  friend bool operator==(const LayerParts&, const LayerParts&) = default;
};

// Layers of one branch alone, and a mixer's with a feed-forward.
inline constexpr LayerParts kAttentionAlone = {.feeds = false};
inline constexpr LayerParts kMixerAlone = {.attention = false, .mixer = true, .feeds = false};
inline constexpr LayerParts kFeedForwardAlone = {.attention = false};
inline constexpr LayerParts kMixerAndFeedForward = {.attention = false, .mixer = true};

// The traits in which two layers of a draft may differ.
struct LayerTraits {
  LayerSpan span = LayerSpan::kAll;
  bool experts = false;
  bool shared_indexer = false;
  LayerParts parts = {};
};

// Sizes of attention in layers with a window, where they differ from the other layers'.
struct WindowAttention {
  int64_t head_count = 0;
  int64_t key_value_head_count = 0;
  int64_t head_size = 0;
  int64_t value_head_size = 0;
  bool sinks = false;
};

struct DecoderDraft {
  int64_t layer_count = 0;
  int64_t hidden_size = 0;
  int64_t feed_forward_size = 0;
  int64_t head_count = 0;
  int64_t key_value_head_count = 0;  // 0: head_count
  int64_t head_size = 0;             // 0: hidden_size / head_count
  int64_t value_head_size = 0;       // 0: head_size
  int64_t vocabulary_size = 0;
  int64_t learned_position_count = 0;
  int64_t first_position = 0;
  int64_t embedding_size = 0;  // 0: hidden_size
  DecoderStyle style = {};
  absl::optional<LatentSpec> latent = {};
  std::vector<bool> shared_indexers = {};  // per layer; empty: none uses another's indexer
  bool sinks = false;
  bool values_are_keys = false;  // in layers without a window
  bool output_scale = false;

  absl::optional<MixerSpec> mixer = {};
  std::vector<LayerParts> parts = {};  // per layer; empty: attention and a feed-forward

  int64_t window = 0;  // of layers with a window
  absl::optional<WindowAttention> window_attention = {};
  int64_t chunk = 0;
  std::vector<LayerSpan> spans = {};  // per layer; empty: all layers attend to all

  absl::optional<ExpertsSpec> experts = {};
  std::vector<bool> expert_layers = {};  // per layer; empty: all layers, if there are experts
  bool experts_and_dense = false;        // layers with experts have the feed-forward, too

  int64_t prediction_module_count = 0;                // of multi-token prediction
  absl::optional<LayerTraits> prediction_layer = {};  // of each module; absent: the last layer's
};

// `draft` with its zero sizes replaced by their defaults. The head count must divide the hidden
// size where no head size is given.
DecoderDraft WithDefaults(DecoderDraft draft);

// True where a layer has a feed-forward of feed_forward_size.
bool HasDenseLayers(const DecoderDraft& draft);

// The architecture of `draft`, with zero sizes replaced by their defaults; equal consecutive
// layers form one run. Kinds of layers are named by their differences: "dense" and "experts",
// "global", "sliding" and "chunked", "attention" and "mamba2", or both: "sliding_experts";
// "_no_indexer" is added to those that share one.
ArchitectureSpec ArchitectureOf(const DecoderDraft& draft);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_DECODER_DRAFT_H_
