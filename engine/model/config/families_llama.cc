// Families in Llama's style: RMSNorm, a gated feed-forward, rotary positions.
//
// Read in huggingface/transformers src/transformers/models, configuration_*.py @008e57439125 of
// llama, gemma, gemma2, qwen2, qwen3, phi3, olmo2, olmo3, granite and smollm3;
// configuration_mistral.py @001f85b38fb4; configuration_gemma3.py @008f5c8c29be (its text part).
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/model/config/families.h"
#include "engine/model/config/layer_patterns.h"

namespace sextant {
namespace {

constexpr DecoderStyle kLlamaStyle = {};

constexpr DecoderStyle kTiedStyle = {.tied = true};

constexpr DecoderStyle kGemma2Style = {.norms = kNormsAround, .tied = true};

constexpr DecoderStyle kGemma3Style = {
    .norms = kNormsAround, .query_key_norm = QueryKeyNorm::kPerHead, .tied = true};

constexpr DecoderStyle kQwen2Style = {.query_key_value_bias = true};

constexpr DecoderStyle kQwen3Style = {.query_key_norm = QueryKeyNorm::kPerHead};

constexpr DecoderStyle kOlmo2Style = {.norms = kNormsAfter,
                                      .query_key_norm = QueryKeyNorm::kAllHeads};

constexpr DecoderStyle kGlm4Style = {.norms = kNormsAround};

constexpr DecoderStyle kExaone4Style = {.norms = kNormsAfter,
                                        .query_key_norm = QueryKeyNorm::kPerHead};

constexpr DecoderStyle kArceeStyle = {.feed_forward = FeedForwardKind::kPlain};

// xIELU learns two numbers a layer: arXiv 2411.13010.
constexpr DecoderStyle kApertusStyle = {.feed_forward = FeedForwardKind::kPlain,
                                        .query_key_norm = QueryKeyNorm::kPerHead,
                                        .activation_parameter_count = 2};

void ReadMistralOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadWindowOfAllLayers(config, 4096, draft);
}

void ReadPhi3Options(ConfigReader& config, DecoderDraft& draft) {
  ReadWindowOfAllLayers(config, 0, draft);
}

// The layers from max_window_layers on have the window, if use_sliding_window is set.
void ReadQwen2Options(ConfigReader& config, DecoderDraft& draft) {
  constexpr int64_t kWindowIfAbsent = 4096;
  constexpr int64_t kFirstIfAbsent = 28;
  const bool use = config.Flag("use_sliding_window", false);
  const int64_t window = config.Span("sliding_window", kWindowIfAbsent);
  const int64_t first = config.Count("max_window_layers", kFirstIfAbsent);
  draft.window = use ? window : 0;
  if (ReadLayerTypes(config, draft)) return;
  SetSpans(
      LayerSpan::kWindow, [&](int64_t i) { return i >= first; }, draft);
}

void ReadQwen3Options(ConfigReader& config, DecoderDraft& draft) {
  ReadAttentionBias(config, draft);
  ReadQwen2Options(config, draft);
}

// One layer in `no_rope_layer_interval` has no rotary positions; no_rope_layers may list them,
// where 1 means rotary. These layers have the window, if use_sliding_window is set.
void ReadSmolLm3Options(ConfigReader& config, DecoderDraft& draft) {
  ReadBothBiases(config, draft);
  const bool use = config.Flag("use_sliding_window", false);
  const int64_t window = config.Span("sliding_window", 0);
  draft.window = use ? window : 0;
  int64_t interval = config.Size("no_rope_layer_interval");
  if (interval == 0) interval = 4;
  const auto rotary = config.Integers("no_rope_layers");
  if (ReadLayerTypes(config, draft) || draft.layer_count == 0) return;
  if (rotary.has_value() && static_cast<int64_t>(rotary->size()) < draft.layer_count) {
    config.Refuse("no_rope_layers", "is shorter than the model: write 1 or 0 a layer");
    return;
  }
  SetSpans(
      LayerSpan::kWindow,
      [&](int64_t i) {
        return rotary.has_value() ? (*rotary)[static_cast<size_t>(i)] == 0
                                  : (i + 1) % interval == 0;
      },
      draft);
}

void ReadGemma2Options(ConfigReader& config, DecoderDraft& draft) {
  ReadAttentionBias(config, draft);
  ReadWindowPattern(config, {.window_if_absent = 4096, .period = 2}, draft);
}

void ReadGemma3Options(ConfigReader& config, DecoderDraft& draft) {
  ReadAttentionBias(config, draft);
  ReadWindowPattern(
      config, {.window_if_absent = 4096, .period = 6, .period_name = "sliding_window_pattern"},
      draft);
}

void ReadOlmo3Options(ConfigReader& config, DecoderDraft& draft) {
  ReadAttentionBias(config, draft);
  ReadWindowPattern(config, {.window_if_absent = 4096, .period = 4}, draft);
}

// sliding_window_pattern is a period, or a letter a layer of one period: "LLLG".
void ReadExaone4Options(ConfigReader& config, DecoderDraft& draft) {
  draft.window = config.Span("sliding_window", 4096);
  const ConfigValue* pattern = config.Find("sliding_window_pattern");
  int64_t period = 4;
  if (pattern != nullptr && pattern->kind == ConfigValue::Kind::kText) {
    period = static_cast<int64_t>(pattern->text.size());
    if (period == 0 || pattern->text.find('G') + 1 != pattern->text.size() ||
        pattern->text.find_first_not_of("LG") != std::string::npos) {
      config.Refuse("sliding_window_pattern", "must be letters L with a last one G, or a number");
    }
  } else if (pattern != nullptr) {
    period = config.Size("sliding_window_pattern");
  }
  if (ReadLayerTypes(config, draft) || period == 0) return;
  SetSpans(
      LayerSpan::kWindow, [&](int64_t i) { return (i + 1) % period != 0; }, draft);
}

void ReadTypedWindow(ConfigReader& config, int64_t window_if_absent, DecoderDraft& draft) {
  draft.window = config.Span("sliding_window", window_if_absent);
  if (ReadLayerTypes(config, draft)) return;
  SetSpans(
      LayerSpan::kWindow, [](int64_t) { return true; }, draft);
}

void ReadMinistralOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadTypedWindow(config, 4096, draft);
}

void ReadMinistral3Options(ConfigReader& config, DecoderDraft& draft) {
  ReadTypedWindow(config, 0, draft);
}

void ReadHunyuanDenseOptions(ConfigReader& config, DecoderDraft& draft) {
  const int64_t again = config.Size("attention_head_dim");
  if (again != 0 && draft.head_size != 0 && again != draft.head_size) {
    config.Refuse("attention_head_dim", "is not head_dim: remove it, or correct them");
  }
}

void ReadApertusOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadBothBiases(config, draft);
  if (config.Text("hidden_act", "xielu") != "xielu") draft.style.activation_parameter_count = 0;
  if (config.Flag("post_norm", false)) config.Refuse("post_norm", "must be false");
}

// The width that meta-llama/llama3 llama/model.py, FeedForward, makes of its fields where Llama's
// params.json gives none: two thirds of 4 dim, times ffn_dim_multiplier, rounded up.
void ReadParamsOptions(ConfigReader& config, DecoderDraft& draft) {
  draft.style.tied = config.Flag("tied_embeddings", false);
  draft.window = config.Span("sliding_window", 0);
  SetSpans(
      LayerSpan::kWindow, [](int64_t) { return true; }, draft);
  const bool given = config.Find("hidden_dim") != nullptr;
  const int64_t multiple = config.Size("multiple_of");
  double factor = 1;
  if (const ConfigValue* found = config.Find("ffn_dim_multiplier"); found != nullptr) {
    const std::string digits =
        found->kind == ConfigValue::Kind::kInteger ? absl::StrCat(found->integer) : found->text;
    if (!absl::SimpleAtod(digits, &factor) || !(factor > 0 && factor <= 1000)) {
      config.Refuse("ffn_dim_multiplier", "must be a number above 0, at most 1000");
      factor = 1;
    }
  }
  if (!given && multiple == 0) {
    config.Refuse("hidden_dim", "is required: write the width, or multiple_of as Llama's files do");
  } else if (!given) {
    const int64_t thirds = 2 * draft.feed_forward_size / 3;
    const auto width = static_cast<int64_t>(factor * static_cast<double>(thirds));
    draft.feed_forward_size = (width + multiple - 1) / multiple * multiple;
  }
  if (config.Has("moe.num_experts")) {
    ReadExperts(config,
                {.expert_count = "moe.num_experts", .experts_per_token = "moe.num_experts_per_tok"},
                draft.feed_forward_size, draft);
  }
}

constexpr SizeNames kParamsNames = {.layer_count = "n_layers",
                                    .hidden_size = "dim",
                                    .feed_forward_size = "hidden_dim",
                                    .head_count = "n_heads",
                                    .key_value_head_count = "n_kv_heads"};

// Sizes that gemma-3-4b's file leaves out: configuration_gemma3.py (as above), Gemma3TextConfig.
constexpr SizeDefaults kGemma3Defaults = {
    .head_count = 8, .key_value_head_count = 4, .head_size = 256, .vocabulary_size = 262208};

constexpr Family kLlamaFamilies[] = {
    {.model_type = "llama",
     .architecture = "LlamaForCausalLM",
     .style = kLlamaStyle,
     .read_options = ReadBothBiases},
    {.model_type = kParamsFile,
     .architecture = kParamsFile,
     .names = kParamsNames,
     .style = kLlamaStyle,
     .feed_forward_is_four_hidden = true,
     .read_options = ReadParamsOptions},
    {.model_type = "mistral",
     .architecture = "MistralForCausalLM",
     .style = kLlamaStyle,
     .key_value_head_count_required = true,
     .read_options = ReadMistralOptions},
    {.model_type = "granite",
     .architecture = "GraniteForCausalLM",
     .style = kLlamaStyle,
     .read_options = ReadBothBiases},
    {.model_type = "smollm3",
     .architecture = "SmolLM3ForCausalLM",
     .style = kTiedStyle,
     .key_value_head_count_required = true,
     .read_options = ReadSmolLm3Options},
    {.model_type = "phi3",
     .architecture = "Phi3ForCausalLM",
     .style = kLlamaStyle,
     .read_options = ReadPhi3Options},
    {.model_type = "qwen2",
     .architecture = "Qwen2ForCausalLM",
     .style = kQwen2Style,
     .key_value_head_count_required = true,
     .read_options = ReadQwen2Options},
    {.model_type = "qwen3",
     .architecture = "Qwen3ForCausalLM",
     .style = kQwen3Style,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .read_options = ReadQwen3Options},
    {.model_type = "gemma",
     .architecture = "GemmaForCausalLM",
     .style = kTiedStyle,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .read_options = ReadAttentionBias},
    {.model_type = "gemma2",
     .architecture = "Gemma2ForCausalLM",
     .style = kGemma2Style,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .read_options = ReadGemma2Options},
    {.model_type = "gemma3_text",
     .architecture = "Gemma3ForCausalLM",
     .style = kGemma3Style,
     .defaults = kGemma3Defaults,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .read_options = ReadGemma3Options},
    {.model_type = "olmo2",
     .architecture = "Olmo2ForCausalLM",
     .style = kOlmo2Style,
     .read_options = ReadAttentionBias},
    {.model_type = "olmo3",
     .architecture = "Olmo3ForCausalLM",
     .style = kOlmo2Style,
     .read_options = ReadOlmo3Options},
    {.model_type = "glm",
     .architecture = "GlmForCausalLM",
     .style = kLlamaStyle,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .query_key_value_bias = {"attention_bias", true}},
    {.model_type = "glm4",
     .architecture = "Glm4ForCausalLM",
     .style = kGlm4Style,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .query_key_value_bias = {"attention_bias", true}},
    {.model_type = "ernie4_5",
     .architecture = "Ernie4_5ForCausalLM",
     .style = kTiedStyle,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .query_key_value_bias = {"use_bias"},
     .attention_output_bias = {"use_bias"},
     .feed_forward_bias = {"use_bias"}},
    {.model_type = "mimo",
     .architecture = "MiMoForCausalLM",
     .style = kQwen2Style,
     .key_value_head_count_required = true,
     .query_key_value_bias = {"attention_bias", true},
     .prediction_modules = "num_nextn_predict_layers",
     .read_options = ReadQwen2Options},
    {.model_type = "exaone4",
     .architecture = "Exaone4ForCausalLM",
     .style = kExaone4Style,
     .key_value_head_count_required = true,
     .read_options = ReadExaone4Options},
    {.model_type = "internlm3",
     .architecture = "InternLM3ForCausalLM",
     .style = kLlamaStyle,
     .key_value_head_count_required = true,
     .query_key_value_bias = {"qkv_bias"},
     .attention_output_bias = {"bias"},
     .feed_forward_bias = {"bias"}},
    {.model_type = "seed_oss",
     .architecture = "SeedOssForCausalLM",
     .style = kLlamaStyle,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .query_key_value_bias = {"attention_bias", true},
     .attention_output_bias = {"attention_out_bias"},
     .feed_forward_bias = {"mlp_bias"}},
    {.model_type = "arcee",
     .architecture = "ArceeForCausalLM",
     .style = kArceeStyle,
     .read_options = ReadBothBiases},
    {.model_type = "ministral3",
     .architecture = "Ministral3ForCausalLM",
     .style = kLlamaStyle,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .read_options = ReadMinistral3Options},
    {.model_type = "ministral",
     .architecture = "MinistralForCausalLM",
     .style = kLlamaStyle,
     .key_value_head_count_required = true,
     .read_options = ReadMinistralOptions},
    {.model_type = "hunyuan_v1_dense",
     .architecture = "HunYuanDenseV1ForCausalLM",
     .style = kQwen3Style,
     .query_key_value_bias = {"attention_bias"},
     .attention_output_bias = {"attention_bias"},
     .feed_forward_bias = {"mlp_bias"},
     .query_key_norm = {"use_qk_norm", true},
     .read_options = ReadHunyuanDenseOptions},
    {.model_type = "qwen2_vl",
     .architecture = "Qwen2VLForConditionalGeneration",
     .style = kQwen2Style,
     .multimodal = true,
     .key_value_head_count_required = true,
     .read_options = ReadQwen2Options},
    {.model_type = "qwen2_5_vl",
     .architecture = "Qwen2_5_VLForConditionalGeneration",
     .style = kQwen2Style,
     .multimodal = true,
     .key_value_head_count_required = true,
     .read_options = ReadQwen2Options},
    {.model_type = "qwen2_vl_text",
     .architecture = "Qwen2VLForConditionalGeneration",
     .style = kQwen2Style,
     .key_value_head_count_required = true,
     .read_options = ReadQwen2Options},
    {.model_type = "qwen2_5_vl_text",
     .architecture = "Qwen2_5_VLForConditionalGeneration",
     .style = kQwen2Style,
     .key_value_head_count_required = true,
     .read_options = ReadQwen2Options},
    {.model_type = "qwen3_vl_text",
     .architecture = "Qwen3VLForConditionalGeneration",
     .style = kQwen3Style,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .query_key_value_bias = {"attention_bias"},
     .attention_output_bias = {"attention_bias"}},
    {.model_type = "apertus",
     .architecture = "ApertusForCausalLM",
     .style = kApertusStyle,
     .query_key_norm = {"qk_norm", true},
     .read_options = ReadApertusOptions},
};

}  // namespace

absl::Span<const Family> LlamaFamilies() { return kLlamaFamilies; }

}  // namespace sextant
