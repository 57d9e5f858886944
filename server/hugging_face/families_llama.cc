// Families in Llama's style: RMSNorm, a gated feed-forward, rotary positions.
//
// Read in huggingface/transformers src/transformers/models, configuration_*.py @008e57439125 of
// llama, gemma, gemma2, qwen2, qwen3, phi3, olmo2, olmo3, granite and smollm3;
// configuration_mistral.py @001f85b38fb4; configuration_gemma3.py @008f5c8c29be (its text part).
#include "server/hugging_face/families.h"

namespace sextant {
namespace {

constexpr TransformerSpec kLlamaShape = {.feed_forward_kind = FeedForwardKind::kGated,
                                         .norm_kind = NormKind::kRmsNorm};

constexpr TransformerSpec kTiedShape = {.tied_embeddings = true,
                                        .feed_forward_kind = FeedForwardKind::kGated,
                                        .norm_kind = NormKind::kRmsNorm};

// Norms before and after attention and feed-forward.
constexpr TransformerSpec kGemma2Shape = {.tied_embeddings = true,
                                          .feed_forward_kind = FeedForwardKind::kGated,
                                          .norm_kind = NormKind::kRmsNorm,
                                          .norms_per_layer = 4};

constexpr TransformerSpec kGemma3Shape = {.tied_embeddings = true,
                                          .feed_forward_kind = FeedForwardKind::kGated,
                                          .norm_kind = NormKind::kRmsNorm,
                                          .norms_per_layer = 4,
                                          .query_key_norm = QueryKeyNorm::kPerHead};

constexpr TransformerSpec kQwen2Shape = {.feed_forward_kind = FeedForwardKind::kGated,
                                         .norm_kind = NormKind::kRmsNorm,
                                         .query_key_value_bias = true};

constexpr TransformerSpec kQwen3Shape = {.feed_forward_kind = FeedForwardKind::kGated,
                                         .norm_kind = NormKind::kRmsNorm,
                                         .query_key_norm = QueryKeyNorm::kPerHead};

constexpr TransformerSpec kOlmo2Shape = {.feed_forward_kind = FeedForwardKind::kGated,
                                         .norm_kind = NormKind::kRmsNorm,
                                         .query_key_norm = QueryKeyNorm::kAllHeads};

constexpr Family kFamilies[] = {
    {.model_type = "llama",
     .architecture = "LlamaForCausalLM",
     .shape = kLlamaShape,
     .read_options = ReadBothBiases},
    {.model_type = "mistral",
     .architecture = "MistralForCausalLM",
     .shape = kLlamaShape,
     .key_value_head_count_required = true},
    {.model_type = "granite",
     .architecture = "GraniteForCausalLM",
     .shape = kLlamaShape,
     .read_options = ReadBothBiases},
    {.model_type = "smollm3",
     .architecture = "SmolLM3ForCausalLM",
     .shape = kTiedShape,
     .key_value_head_count_required = true,
     .read_options = ReadBothBiases},
    {.model_type = "phi3", .architecture = "Phi3ForCausalLM", .shape = kLlamaShape},
    {.model_type = "qwen2",
     .architecture = "Qwen2ForCausalLM",
     .shape = kQwen2Shape,
     .key_value_head_count_required = true},
    {.model_type = "qwen3",
     .architecture = "Qwen3ForCausalLM",
     .shape = kQwen3Shape,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .read_options = ReadAttentionBias},
    {.model_type = "gemma",
     .architecture = "GemmaForCausalLM",
     .shape = kTiedShape,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .read_options = ReadAttentionBias},
    {.model_type = "gemma2",
     .architecture = "Gemma2ForCausalLM",
     .shape = kGemma2Shape,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .read_options = ReadAttentionBias},
    {.model_type = "gemma3_text",
     .architecture = "Gemma3ForCausalLM",
     .shape = kGemma3Shape,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .read_options = ReadAttentionBias},
    {.model_type = "olmo2",
     .architecture = "Olmo2ForCausalLM",
     .shape = kOlmo2Shape,
     .read_options = ReadAttentionBias},
    {.model_type = "olmo3",
     .architecture = "Olmo3ForCausalLM",
     .shape = kOlmo2Shape,
     .read_options = ReadAttentionBias},
};

}  // namespace

absl::Span<const Family> LlamaFamilies() { return kFamilies; }

}  // namespace sextant
