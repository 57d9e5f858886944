// Families in GPT-2's style: LayerNorm and a plain feed-forward.
//
// Read in huggingface/transformers src/transformers/models: configuration_gpt2.py @01ae98ae2414,
// configuration_gptj.py @0bedd3309fc9, configuration_gpt_neo.py @04c7fd35d5fe,
// configuration_gpt_bigcode.py @05ff2e98e446, configuration_gpt_neox.py @008e57439125,
// configuration_opt.py @014674d38b61, modeling_codegen.py @00491ceeee1a. Which matrices have a
// bias: from memory, fixed by the published counts that the tests compare with.
#include "server/hugging_face/families.h"

namespace sextant {
namespace {

constexpr SizeNames kGpt2Names = {.layer_count = "n_layer",
                                  .hidden_size = "n_embd",
                                  .feed_forward_size = "n_inner",
                                  .attention_head_count = "n_head",
                                  .key_value_head_count = "",
                                  .head_size = "",
                                  .learned_position_count = "n_positions"};

// Rotary: n_positions bounds the sequence and sizes no table.
constexpr SizeNames kGptjNames = {.layer_count = "n_layer",
                                  .hidden_size = "n_embd",
                                  .feed_forward_size = "n_inner",
                                  .attention_head_count = "n_head",
                                  .key_value_head_count = "",
                                  .head_size = ""};

constexpr SizeNames kGptNeoNames = {.layer_count = "num_layers",
                                    .attention_head_count = "num_heads",
                                    .key_value_head_count = "",
                                    .head_size = "",
                                    .learned_position_count = "max_position_embeddings"};

constexpr SizeNames kGptNeoxNames = {.key_value_head_count = "", .head_size = ""};

constexpr SizeNames kOptNames = {.feed_forward_size = "ffn_dim",
                                 .key_value_head_count = "",
                                 .head_size = "",
                                 .learned_position_count = "max_position_embeddings",
                                 .embedding_size = "word_embed_proj_dim"};

constexpr TransformerSpec kGpt2Shape = {.tied_embeddings = true,
                                        .feed_forward_kind = FeedForwardKind::kPlain,
                                        .norm_kind = NormKind::kLayerNorm,
                                        .query_key_value_bias = true,
                                        .attention_output_bias = true,
                                        .feed_forward_bias = true};

// Queries, keys and values have no bias, the projection behind them has.
constexpr TransformerSpec kGptNeoShape = {.tied_embeddings = true,
                                          .feed_forward_kind = FeedForwardKind::kPlain,
                                          .norm_kind = NormKind::kLayerNorm,
                                          .attention_output_bias = true,
                                          .feed_forward_bias = true};

// Attention without biases and feed-forward in parallel behind one norm; a bias on the head.
constexpr TransformerSpec kGptjShape = {.feed_forward_kind = FeedForwardKind::kPlain,
                                        .norm_kind = NormKind::kLayerNorm,
                                        .norms_per_layer = 1,
                                        .feed_forward_bias = true,
                                        .output_head_bias = true};

// Two norms a layer, in parallel (use_parallel_residual) or not.
constexpr TransformerSpec kGptNeoxShape = {.feed_forward_kind = FeedForwardKind::kPlain,
                                           .norm_kind = NormKind::kLayerNorm,
                                           .query_key_value_bias = true,
                                           .attention_output_bias = true,
                                           .feed_forward_bias = true};

void ReadGptNeoxOptions(ConfigReader& config, TransformerSpec& shape) {
  shape.query_key_value_bias = shape.attention_output_bias = config.Flag("attention_bias", true);
}

void ReadGptBigcodeOptions(ConfigReader& config, TransformerSpec& shape) {
  if (config.Flag("multi_query", true)) shape.key_value_head_count = 1;
}

// Positions start at 2. Norms behind the sublayers (do_layer_norm_before: false) need none at
// the end.
void ReadOptOptions(ConfigReader& config, TransformerSpec& shape) {
  if (shape.learned_position_count > 0) shape.learned_position_count += 2;
  const bool bias = config.Flag("enable_bias", true);
  shape.query_key_value_bias = shape.attention_output_bias = shape.feed_forward_bias = bias;
  if (!config.Flag("layer_norm_elementwise_affine", true)) {
    shape.norm_kind = NormKind::kNonParametric;
  }
  const bool norm_before = config.Flag("do_layer_norm_before", true);
  const bool removed = config.Flag("_remove_final_layer_norm", false);
  shape.final_norm = norm_before && !removed;
}

constexpr Family kFamilies[] = {
    {.model_type = "gpt2",
     .architecture = "GPT2LMHeadModel",
     .names = kGpt2Names,
     .shape = kGpt2Shape,
     .feed_forward_is_four_hidden = true},
    {.model_type = "gpt_bigcode",
     .architecture = "GPTBigCodeForCausalLM",
     .names = kGpt2Names,
     .shape = kGpt2Shape,
     .feed_forward_is_four_hidden = true,
     .read_options = ReadGptBigcodeOptions},
    {.model_type = "gpt_neo",
     .architecture = "GPTNeoForCausalLM",
     .names = kGptNeoNames,
     .shape = kGptNeoShape,
     .feed_forward_is_four_hidden = true},
    {.model_type = "gptj",
     .architecture = "GPTJForCausalLM",
     .names = kGptjNames,
     .shape = kGptjShape,
     .feed_forward_is_four_hidden = true},
    {.model_type = "codegen",
     .architecture = "CodeGenForCausalLM",
     .names = kGptjNames,
     .shape = kGptjShape,
     .feed_forward_is_four_hidden = true},
    {.model_type = "gpt_neox",
     .architecture = "GPTNeoXForCausalLM",
     .names = kGptNeoxNames,
     .shape = kGptNeoxShape,
     .read_options = ReadGptNeoxOptions},
    {.model_type = "opt",
     .architecture = "OPTForCausalLM",
     .names = kOptNames,
     .shape = kGpt2Shape,
     .read_options = ReadOptOptions},
};

}  // namespace

absl::Span<const Family> GptFamilies() { return kFamilies; }

}  // namespace sextant
