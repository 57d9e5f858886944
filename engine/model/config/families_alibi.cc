// Families whose attention is biased by distances without learned parameters (ALiBi): BLOOM and
// MPT.
//
// Read in huggingface/transformers src/transformers/models: configuration_bloom.py @04efa883e0ad,
// configuration_mpt.py @05699a763e76. From memory, and confirmed by the published counts that the
// tests compare with: which matrices have a bias, which ones no_bias removes, and llm-foundry's
// defaults.
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/config/families.h"

namespace sextant {
namespace {

constexpr SizeNames kBloomNames = {.layer_count = {"n_layer", "num_hidden_layers"},
                                   .hidden_size = {"hidden_size", "n_embed"},
                                   .feed_forward_size = "",
                                   .head_count = {"n_head", "num_attention_heads"},
                                   .key_value_head_count = "",
                                   .head_size = ""};

constexpr SizeNames kMptNames = {.layer_count = "n_layers",
                                 .hidden_size = "d_model",
                                 .feed_forward_size = "",
                                 .head_count = "n_heads",
                                 .key_value_head_count = "",
                                 .head_size = ""};

// A norm after the embedding; attention biases by distance, without parameters.
constexpr DecoderStyle kBloomStyle = {.norm = NormVariant::kLayerNorm,
                                      .embedding_norm = true,
                                      .feed_forward = FeedForwardKind::kPlain,
                                      .query_key_value_bias = true,
                                      .attention_output_bias = true,
                                      .feed_forward_bias = true,
                                      .tied = true};

constexpr DecoderStyle kMptStyle = {
    .norm = NormVariant::kLayerNorm, .feed_forward = FeedForwardKind::kPlain, .tied = true};

void ReadBloomOptions(ConfigReader& config, DecoderDraft& draft) {
  const int64_t inner = config.Size("n_inner");
  if (inner != 0 && inner != 4 * draft.hidden_size) {
    config.Refuse("n_inner",
                  "is not read by this family's code, which takes 4 times the width: "
                  "remove it");
  }
}

void RefuseMptVariants(ConfigReader& config) {
  const std::string type = config.Text("attn_config.attn_type", "multihead_attention");
  if (type != "multihead_attention") {
    config.Refuse("attn_config.attn_type",
                  "must be multihead_attention: others are not supported yet");
  }
  if (config.Flag("attn_config.qk_ln", false)) {
    config.Refuse("attn_config.qk_ln", "true adds norms that are not supported yet: write false");
  }
  if (config.Text("ffn_config.ffn_type", "mptmlp") != "mptmlp") {
    config.Refuse("ffn_config.ffn_type", "must be mptmlp: others are not supported yet");
  }
  const std::string norm = config.Text("norm_type", "low_precision_layernorm");
  if (norm != "low_precision_layernorm" && norm != "layernorm") {
    config.Refuse("norm_type", "must be low_precision_layernorm or layernorm");
  }
}

// Reads the width of the inner layer: expansion_ratio times the hidden size.
void ReadMptWidth(ConfigReader& config, DecoderDraft& draft) {
  const int64_t ratio = config.Size("expansion_ratio");
  if (ratio == 0) return;  // 4
  draft.feed_forward_size = ratio * draft.hidden_size;
  if (draft.feed_forward_size > kMaxFeedForwardSize) {
    config.Refuse("expansion_ratio",
                  absl::StrCat("times d_model must be at most ", kMaxFeedForwardSize));
  }
}

// llm-foundry's code and transformers' have different defaults, and transformers' ignores the
// file's biases and learned positions. So both fields are required. Without biases, norms have
// none either.
void ReadMptOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadMptWidth(config, draft);
  const bool no_bias = config.Flag("no_bias", true);
  SetAllBiases(!no_bias, draft);
  if (no_bias) draft.style.norm = NormVariant::kBiasFreeLayerNorm;
  const bool rotary = config.Flag("attn_config.rope", false);
  const bool alibi = config.Flag("attn_config.alibi", true);
  for (const char* name : {"no_bias", "attn_config.alibi"}) {
    if (!config.Has(name)) {
      config.Refuse(name,
                    "is required: llm-foundry's code and transformers' differ in its default");
    }
  }
  const bool learned = config.Flag("learned_pos_emb", true) && !alibi && !rotary;
  if (learned)
    draft.learned_position_count = config.RequiredSize("max_seq_len", kMaxVocabularySize);
  RefuseMptVariants(config);
}

constexpr absl::string_view kMptAlso[] = {"MptForCausalLM"};

constexpr Family kAlibiFamilies[] = {
    {.model_type = "bloom",
     .architecture = "BloomForCausalLM",
     .names = kBloomNames,
     .style = kBloomStyle,
     .feed_forward_is_four_hidden = true,
     .read_options = ReadBloomOptions},
    {.model_type = "mpt",
     .architecture = "MPTForCausalLM",
     .also_architectures = kMptAlso,
     .names = kMptNames,
     .style = kMptStyle,
     .feed_forward_is_four_hidden = true,
     .read_options = ReadMptOptions},
};

}  // namespace

absl::Span<const Family> AlibiFamilies() { return kAlibiFamilies; }

}  // namespace sextant
