// Families between the two styles.
//
// Read in huggingface/transformers src/transformers/models: configuration_*.py @008e57439125 of
// phi, olmo, starcoder2 and cohere; configuration_stablelm.py @05cd1ec14dbe;
// configuration_nemotron.py @05cd1ec14dbe and modeling_nemotron.py @001ccfcb920b;
// configuration_falcon.py @055855363e97, whose later fields (ffn_hidden_size,
// num_ln_in_parallel_attn) were read in a copy of its model (text index id 2686833), as
// cohere's norm without a bias was (text index id 26840509540).
#include "server/hugging_face/families.h"

namespace sextant {
namespace {

constexpr SizeNames kNoHeadSize = {.head_size = ""};

constexpr SizeNames kFalconNames = {.feed_forward_size = "ffn_hidden_size",
                                    .key_value_head_count = "num_kv_heads",
                                    .head_size = ""};

// Behind one norm, attention and feed-forward in parallel; a bias on the head.
constexpr TransformerSpec kPhiShape = {.feed_forward_kind = FeedForwardKind::kPlain,
                                       .norm_kind = NormKind::kLayerNorm,
                                       .norms_per_layer = 1,
                                       .query_key_value_bias = true,
                                       .attention_output_bias = true,
                                       .feed_forward_bias = true,
                                       .output_head_bias = true};

constexpr TransformerSpec kOlmoShape = {.feed_forward_kind = FeedForwardKind::kGated,
                                        .norm_kind = NormKind::kNonParametric};

constexpr TransformerSpec kStarcoder2Shape = {.tied_embeddings = true,
                                              .feed_forward_kind = FeedForwardKind::kPlain,
                                              .norm_kind = NormKind::kLayerNorm};

constexpr TransformerSpec kStablelmShape = {.feed_forward_kind = FeedForwardKind::kGated,
                                            .norm_kind = NormKind::kLayerNorm};

// Its norms have a weight and no bias, which is what an RMSNorm counts; one a layer.
constexpr TransformerSpec kCohereShape = {.tied_embeddings = true,
                                          .feed_forward_kind = FeedForwardKind::kGated,
                                          .norm_kind = NormKind::kRmsNorm,
                                          .norms_per_layer = 1};

constexpr TransformerSpec kNemotronShape = {.feed_forward_kind = FeedForwardKind::kPlain,
                                            .norm_kind = NormKind::kLayerNorm};

constexpr TransformerSpec kFalconShape = {.tied_embeddings = true,
                                          .feed_forward_kind = FeedForwardKind::kPlain,
                                          .norm_kind = NormKind::kLayerNorm};

void ReadPhiOptions(ConfigReader& config, TransformerSpec&) {
  if (config.Flag("qk_layernorm", false)) {
    config.Refuse("qk_layernorm",
                  "true adds norms with biases to queries and keys, which are not supported yet: "
                  "write false");
  }
}

void ReadStarcoder2Options(ConfigReader& config, TransformerSpec& shape) {
  const bool bias = config.Flag("use_bias", true);
  shape.query_key_value_bias = shape.attention_output_bias = shape.feed_forward_bias = bias;
}

// Its query and key norms have one weight vector a head and no biases.
void ReadStablelmOptions(ConfigReader& config, TransformerSpec& shape) {
  shape.query_key_value_bias = config.Flag("use_qkv_bias", false);
  if (config.Flag("qk_layernorm", false)) shape.query_key_norm = QueryKeyNorm::kAllHeads;
  if (config.Flag("use_parallel_residual", false)) shape.norms_per_layer = 1;
}

void ReadCohereOptions(ConfigReader& config, TransformerSpec& shape) {
  ReadAttentionBias(config, shape);
  if (config.Flag("use_qk_norm", false)) shape.query_key_norm = QueryKeyNorm::kAllHeads;
}

// num_kv_heads counts in the new architecture alone: the old one has one or all.
void ReadFalconOptions(ConfigReader& config, TransformerSpec& shape) {
  const bool bias = config.Flag("bias", false);
  shape.query_key_value_bias = shape.attention_output_bias = shape.feed_forward_bias = bias;
  const bool new_architecture = config.Flag("new_decoder_architecture", false);
  const bool multi_query = config.Flag("multi_query", true);
  if (!new_architecture) shape.key_value_head_count = multi_query ? 1 : 0;
  const int64_t parallel_norms = config.Size("num_ln_in_parallel_attn");
  if (config.Flag("parallel_attn", true)) {
    const bool two = parallel_norms == 2 || (parallel_norms == 0 && new_architecture);
    shape.norms_per_layer = two ? 2 : 1;
  }
}

constexpr Family kFamilies[] = {
    {.model_type = "phi",
     .architecture = "PhiForCausalLM",
     .shape = kPhiShape,
     .read_options = ReadPhiOptions},
    {.model_type = "olmo",
     .architecture = "OlmoForCausalLM",
     .shape = kOlmoShape,
     .read_options = ReadAttentionBias},
    {.model_type = "starcoder2",
     .architecture = "Starcoder2ForCausalLM",
     .shape = kStarcoder2Shape,
     .key_value_head_count_required = true,
     .read_options = ReadStarcoder2Options},
    {.model_type = "stablelm",
     .architecture = "StableLmForCausalLM",
     .names = kNoHeadSize,
     .shape = kStablelmShape,
     .key_value_head_count_required = true,
     .read_options = ReadStablelmOptions},
    {.model_type = "cohere",
     .architecture = "CohereForCausalLM",
     .shape = kCohereShape,
     .read_options = ReadCohereOptions},
    {.model_type = "nemotron",
     .architecture = "NemotronForCausalLM",
     .shape = kNemotronShape,
     .read_options = ReadBothBiases},
    {.model_type = "falcon",
     .architecture = "FalconForCausalLM",
     .names = kFalconNames,
     .shape = kFalconShape,
     .feed_forward_is_four_hidden = true,
     .read_options = ReadFalconOptions},
};

}  // namespace

absl::Span<const Family> MixedFamilies() { return kFamilies; }

}  // namespace sextant
