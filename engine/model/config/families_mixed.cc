// Families between the two styles.
//
// Read in huggingface/transformers src/transformers/models: configuration_*.py @008e57439125 of
// phi, olmo, starcoder2, cohere and cohere2; configuration_stablelm.py @05cd1ec14dbe;
// configuration_nemotron.py @05cd1ec14dbe and modeling_nemotron.py @001ccfcb920b;
// configuration_falcon.py @055855363e97, whose later fields (ffn_hidden_size,
// num_ln_in_parallel_attn) were read in a copy of its model (text index id 2686833), as was
// cohere's norm without a bias (text index id 26840509540). From memory: phi's norms of queries
// and keys have biases, and cohere2 has no such norms.
#include "engine/model/config/families.h"
#include "engine/model/config/layer_patterns.h"

namespace sextant {
namespace {

constexpr SizeNames kNoHeadSize = {.head_size = ""};

constexpr SizeNames kFalconNames = {.feed_forward_size = "ffn_hidden_size",
                                    .key_value_head_count = "num_kv_heads",
                                    .head_size = ""};

// Attention and feed-forward in parallel after one norm; a bias on the head.
constexpr DecoderStyle kPhiStyle = {.norm = NormVariant::kLayerNorm,
                                    .norms = kOneNorm,
                                    .feed_forward = FeedForwardKind::kPlain,
                                    .query_key_norm_variant = NormVariant::kLayerNorm,
                                    .query_key_value_bias = true,
                                    .attention_output_bias = true,
                                    .feed_forward_bias = true,
                                    .head_bias = true};

constexpr DecoderStyle kOlmoStyle = {.norm = NormVariant::kNonParametricLayerNorm};

constexpr DecoderStyle kStarcoder2Style = {
    .norm = NormVariant::kLayerNorm, .feed_forward = FeedForwardKind::kPlain, .tied = true};

// Its query and key norms have a weight vector per head and no biases.
constexpr DecoderStyle kStablelmStyle = {.norm = NormVariant::kLayerNorm,
                                         .query_key_norm_variant = NormVariant::kBiasFreeLayerNorm};

constexpr DecoderStyle kCohereStyle = {.norm = NormVariant::kBiasFreeLayerNorm,
                                       .norms = kOneNorm,
                                       .query_key_norm_variant = NormVariant::kBiasFreeLayerNorm,
                                       .tied = true};

constexpr DecoderStyle kNemotronStyle = {.norm = NormVariant::kLayerNorm,
                                         .feed_forward = FeedForwardKind::kPlain};

constexpr DecoderStyle kFalconStyle = {
    .norm = NormVariant::kLayerNorm, .feed_forward = FeedForwardKind::kPlain, .tied = true};

void ReadPhiOptions(ConfigReader& config, DecoderDraft& draft) {
  if (config.Flag("qk_layernorm", false)) draft.style.query_key_norm = QueryKeyNorm::kPerHead;
}

void ReadStarcoder2Options(ConfigReader& config, DecoderDraft& draft) {
  SetAllBiases(config.Flag("use_bias", true), draft);
  ReadWindowOfAllLayers(config, 0, draft);
}

void ReadStablelmOptions(ConfigReader& config, DecoderDraft& draft) {
  draft.style.query_key_value_bias = config.Flag("use_qkv_bias", false);
  if (config.Flag("qk_layernorm", false)) draft.style.query_key_norm = QueryKeyNorm::kAllHeads;
  if (config.Flag("use_parallel_residual", false)) draft.style.norms = kOneNorm;
}

void ReadCohereOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadAttentionBias(config, draft);
  if (config.Flag("use_qk_norm", false)) draft.style.query_key_norm = QueryKeyNorm::kAllHeads;
}

void ReadCohere2Options(ConfigReader& config, DecoderDraft& draft) {
  ReadAttentionBias(config, draft);
  ReadWindowPattern(
      config, {.window_if_absent = 4096, .period = 4, .period_name = "sliding_window_pattern"},
      draft);
}

// num_kv_heads is used only in the new architecture: the old one has one or all.
void ReadFalconOptions(ConfigReader& config, DecoderDraft& draft) {
  SetAllBiases(config.Flag("bias", false), draft);
  const bool new_architecture = config.Flag("new_decoder_architecture", false);
  const bool multi_query = config.Flag("multi_query", true);
  if (!new_architecture) draft.key_value_head_count = multi_query ? 1 : 0;
  const int64_t parallel_norms = config.Size("num_ln_in_parallel_attn");
  if (config.Flag("parallel_attn", true)) {
    const bool two = parallel_norms == 2 || (parallel_norms == 0 && new_architecture);
    if (!two) draft.style.norms = kOneNorm;
  }
}

constexpr Family kMixedFamilies[] = {
    {.model_type = "phi",
     .architecture = "PhiForCausalLM",
     .style = kPhiStyle,
     .read_options = ReadPhiOptions},
    {.model_type = "olmo",
     .architecture = "OlmoForCausalLM",
     .style = kOlmoStyle,
     .read_options = ReadAttentionBias},
    {.model_type = "starcoder2",
     .architecture = "Starcoder2ForCausalLM",
     .style = kStarcoder2Style,
     .key_value_head_count_required = true,
     .read_options = ReadStarcoder2Options},
    {.model_type = "stablelm",
     .architecture = "StableLmForCausalLM",
     .names = kNoHeadSize,
     .style = kStablelmStyle,
     .key_value_head_count_required = true,
     .read_options = ReadStablelmOptions},
    {.model_type = "cohere",
     .architecture = "CohereForCausalLM",
     .style = kCohereStyle,
     .read_options = ReadCohereOptions},
    {.model_type = "cohere2",
     .architecture = "Cohere2ForCausalLM",
     .style = kCohereStyle,
     .read_options = ReadCohere2Options},
    {.model_type = "nemotron",
     .architecture = "NemotronForCausalLM",
     .style = kNemotronStyle,
     .read_options = ReadBothBiases},
    {.model_type = "falcon",
     .architecture = "FalconForCausalLM",
     .names = kFalconNames,
     .style = kFalconStyle,
     .feed_forward_is_four_hidden = true,
     .read_options = ReadFalconOptions},
};

}  // namespace

absl::Span<const Family> MixedFamilies() { return kMixedFamilies; }

}  // namespace sextant
