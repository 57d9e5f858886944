// Families in GPT-2's style: LayerNorm and a plain feed-forward.
//
// Read in huggingface/transformers src/transformers/models: configuration_gpt2.py @01ae98ae2414,
// configuration_gptj.py @0bedd3309fc9, configuration_gpt_neo.py @04c7fd35d5fe,
// configuration_gpt_bigcode.py @05ff2e98e446, configuration_gpt_neox.py @008e57439125,
// configuration_opt.py @014674d38b61, modeling_codegen.py @00491ceeee1a. From memory, and
// confirmed by the published counts that the tests compare with: the matrices with a bias.
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/config/families.h"
#include "engine/model/config/layer_patterns.h"

namespace sextant {
namespace {

constexpr SizeNames kGpt2Names = {.layer_count = "n_layer",
                                  .hidden_size = "n_embd",
                                  .feed_forward_size = "n_inner",
                                  .head_count = "n_head",
                                  .key_value_head_count = "",
                                  .head_size = "",
                                  .learned_position_count = "n_positions"};

// Rotary: n_positions limits the sequence and sizes no table.
constexpr SizeNames kGptjNames = {.layer_count = "n_layer",
                                  .hidden_size = "n_embd",
                                  .feed_forward_size = "n_inner",
                                  .head_count = "n_head",
                                  .key_value_head_count = "",
                                  .head_size = ""};

constexpr SizeNames kGptNeoNames = {.layer_count = "num_layers",
                                    .head_count = "num_heads",
                                    .key_value_head_count = "",
                                    .head_size = "",
                                    .learned_position_count = "max_position_embeddings"};

constexpr SizeNames kGptNeoxNames = {.key_value_head_count = "", .head_size = ""};

constexpr SizeNames kOptNames = {.feed_forward_size = "ffn_dim",
                                 .key_value_head_count = "",
                                 .head_size = "",
                                 .learned_position_count = "max_position_embeddings",
                                 .embedding_size = "word_embed_proj_dim"};

constexpr DecoderStyle kGpt2Style = {.norm = NormVariant::kLayerNorm,
                                     .feed_forward = FeedForwardKind::kPlain,
                                     .query_key_value_bias = true,
                                     .attention_output_bias = true,
                                     .feed_forward_bias = true,
                                     .tied = true};

// Queries, keys and values have no bias; the output projection has one.
constexpr DecoderStyle kGptNeoStyle = {.norm = NormVariant::kLayerNorm,
                                       .feed_forward = FeedForwardKind::kPlain,
                                       .attention_output_bias = true,
                                       .feed_forward_bias = true,
                                       .tied = true};

// Attention without biases, in parallel with the feed-forward after one norm; a bias on the head.
constexpr DecoderStyle kGptjStyle = {.norm = NormVariant::kLayerNorm,
                                     .norms = kOneNorm,
                                     .feed_forward = FeedForwardKind::kPlain,
                                     .feed_forward_bias = true,
                                     .head_bias = true};

// Two norms per layer, whether the branches are parallel (use_parallel_residual) or not.
constexpr DecoderStyle kGptNeoxStyle = {.norm = NormVariant::kLayerNorm,
                                        .feed_forward = FeedForwardKind::kPlain,
                                        .query_key_value_bias = true,
                                        .attention_output_bias = true,
                                        .feed_forward_bias = true};

void ReadGptNeoxOptions(ConfigReader& config, DecoderDraft& draft) {
  const bool bias = config.Flag("attention_bias", true);
  draft.style.query_key_value_bias = draft.style.attention_output_bias = bias;
}

void ReadGptBigcodeOptions(ConfigReader& config, DecoderDraft& draft) {
  if (config.Flag("multi_query", true)) draft.key_value_head_count = 1;
}

// Positions start at 2: the table has the config's rows for tokens after two others. With norms
// after the sublayers (do_layer_norm_before: false) there is none at the end.
void ReadOptOptions(ConfigReader& config, DecoderDraft& draft) {
  constexpr int64_t kFirstPosition = 2;
  if (draft.learned_position_count > kMaxVocabularySize - kFirstPosition) {
    config.Refuse("max_position_embeddings",
                  absl::StrCat("must be at most ", kMaxVocabularySize - kFirstPosition));
  }
  draft.first_position = kFirstPosition;
  draft.learned_position_count += kFirstPosition;
  SetAllBiases(config.Flag("enable_bias", true), draft);
  if (!config.Flag("layer_norm_elementwise_affine", true)) {
    draft.style.norm = NormVariant::kNonParametricLayerNorm;
  }
  const bool norm_before = config.Flag("do_layer_norm_before", true);
  const bool removed = config.Flag("_remove_final_layer_norm", false);
  if (!norm_before) draft.style.norms = kNormsAfter;
  draft.style.final_norm = norm_before && !removed;
}

// One element of attention_types: [["global", "local"], 6] is that pair six times. Returns false
// where it is none.
bool AddAttentionTypes(const ConfigValue& group, const DecoderDraft& draft,
                       std::vector<LayerSpan>& out) {
  if (group.elements.size() != 2 || group.elements[1].kind != ConfigValue::Kind::kInteger) {
    return false;
  }
  std::vector<LayerSpan> cycle;
  for (const ConfigValue& type : group.elements[0].elements) {
    if (type.text != "global" && type.text != "local") return false;
    cycle.push_back(type.text == "global" ? LayerSpan::kAll : LayerSpan::kWindow);
  }
  const auto longest = static_cast<size_t>(draft.layer_count);
  for (int64_t i = 0; i < group.elements[1].integer && out.size() <= longest; ++i) {
    if (cycle.empty()) return false;
    out.insert(out.end(), cycle.begin(), cycle.end());
  }
  return true;
}

// Every other layer attends to the last window_size tokens. Where attention_types is absent,
// transformers uses that of 24 layers.
void ReadGptNeoOptions(ConfigReader& config, DecoderDraft& draft) {
  constexpr int64_t kDefaultLayers = 24;
  draft.window = config.Span("window_size", 256);
  const ConfigValue* types = config.Find("attention_types");
  if (draft.layer_count == 0) return;
  if (types == nullptr) {
    if (draft.layer_count != kDefaultLayers) {
      config.Refuse("attention_types",
                    "is required: without it transformers takes 24 layers, global and local in "
                    "turn");
    }
    SetSpans(
        LayerSpan::kWindow, [](int64_t i) { return i % 2 == 1; }, draft);
    return;
  }
  bool known = types->kind == ConfigValue::Kind::kArray;
  for (const ConfigValue& group : types->elements) {
    known = known && AddAttentionTypes(group, draft, draft.spans);
  }
  if (!known || static_cast<int64_t>(draft.spans.size()) != draft.layer_count) {
    config.Refuse("attention_types",
                  absl::StrCat("must name global and local layers, ", draft.layer_count,
                               " in all: [[[\"global\", \"local\"], 6]] for 12"));
    draft.spans.clear();
  }
}

constexpr Family kGptFamilies[] = {
    {.model_type = "gpt2",
     .architecture = "GPT2LMHeadModel",
     .names = kGpt2Names,
     .style = kGpt2Style,
     .feed_forward_is_four_hidden = true},
    {.model_type = "gpt_bigcode",
     .architecture = "GPTBigCodeForCausalLM",
     .names = kGpt2Names,
     .style = kGpt2Style,
     .feed_forward_is_four_hidden = true,
     .read_options = ReadGptBigcodeOptions},
    {.model_type = "gpt_neo",
     .architecture = "GPTNeoForCausalLM",
     .names = kGptNeoNames,
     .style = kGptNeoStyle,
     .feed_forward_is_four_hidden = true,
     .read_options = ReadGptNeoOptions},
    {.model_type = "gptj",
     .architecture = "GPTJForCausalLM",
     .names = kGptjNames,
     .style = kGptjStyle,
     .feed_forward_is_four_hidden = true},
    {.model_type = "codegen",
     .architecture = "CodeGenForCausalLM",
     .names = kGptjNames,
     .style = kGptjStyle,
     .feed_forward_is_four_hidden = true},
    {.model_type = "gpt_neox",
     .architecture = "GPTNeoXForCausalLM",
     .names = kGptNeoxNames,
     .style = kGptNeoxStyle,
     .read_options = ReadGptNeoxOptions},
    {.model_type = "opt",
     .architecture = "OPTForCausalLM",
     .names = kOptNames,
     .style = kGpt2Style,
     .read_options = ReadOptOptions},
};

}  // namespace

absl::Span<const Family> GptFamilies() { return kGptFamilies; }

}  // namespace sextant
