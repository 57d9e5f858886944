// A decoder as the readers of config.json families fill it in: what all its layers share, and in
// which ways they differ.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_DECODER_DRAFT_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_DECODER_DRAFT_H_

#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/layer_spec.h"

namespace sextant {

// Before attention alone: branches in parallel behind one norm.
inline constexpr LayerNorms kOneNorm = {.before_feed_forward = false};
// Behind the branches alone.
inline constexpr LayerNorms kNormsAfter = {.before_attention = false,
                                           .after_attention = true,
                                           .before_feed_forward = false,
                                           .after_feed_forward = true};
inline constexpr LayerNorms kNormsAround = {.after_attention = true, .after_feed_forward = true};

// What the members of a family share, or the default of what is an option: Llama's style.
struct DecoderStyle {
  NormVariant norm = NormVariant::kRmsNorm;
  LayerNorms norms = {};
  bool embedding_norm = false;
  bool final_norm = true;
  FeedForwardKind feed_forward = FeedForwardKind::kGated;
  QueryKeyNorm query_key_norm = QueryKeyNorm::kNone;
  NormVariant query_key_norm_variant = NormVariant::kRmsNorm;  // where there is one
  bool query_key_value_bias = false;
  bool attention_output_bias = false;
  bool feed_forward_bias = false;
  bool head_bias = false;
  bool tied = false;
};

// What a layer attends to.
enum class LayerSpan : uint8_t { kAll, kWindow, kChunk };

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
  bool sinks = false;

  int64_t window = 0;  // of the layers that have one
  int64_t chunk = 0;
  std::vector<LayerSpan> spans = {};  // layer by layer; none: all layers attend to all

  absl::optional<ExpertsSpec> experts = {};
  std::vector<bool> expert_layers = {};  // layer by layer; none: all layers, if there are experts

  int64_t prediction_module_count = 0;  // of multi-token prediction, with the last layer's kind
};

// `draft` with its zero defaults replaced by the sizes that they stand for. The head count has to
// divide the hidden size where no head size is given.
DecoderDraft WithDefaults(DecoderDraft draft);

// The architecture that `draft` describes, its zero defaults replaced; runs of equal layers are
// one. Kinds of layers are named by what sets them apart: "dense" and "experts", "global",
// "sliding" and "chunked", or both: "sliding_experts".
ArchitectureSpec ArchitectureOf(const DecoderDraft& draft);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_DECODER_DRAFT_H_
