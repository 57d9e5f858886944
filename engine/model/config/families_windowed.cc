// Mixtures of experts whose layers with a window have heads of their own.
//
// Read in huggingface/transformers src/transformers/models (August 2026): modeling_*.py and
// configuration_*.py of mimo_v2_flash; and in ml-explore/mlx-lm mlx_lm/models: step3p5.py,
// laguna.py, gemma4_text.py. The published totals that the tests compare with confirm which router
// has a correction bias.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/config/families.h"
#include "engine/model/config/layer_patterns.h"

namespace sextant {
namespace {

constexpr DecoderStyle kPerHeadNorms = {.query_key_norm = QueryKeyNorm::kPerHead};

constexpr DecoderStyle kGemma4Style = {
    .norms = kNormsAround, .query_key_norm = QueryKeyNorm::kPerHead, .tied = true};

constexpr SizeNames kStepNames = {.key_value_head_count = "num_attention_groups"};

// The numbers of layers in a text, "3,4,5".
std::vector<bool> LayersInText(const std::string& text, absl::string_view name, int64_t layer_count,
                               ConfigReader& config) {
  std::vector<bool> out(static_cast<size_t>(layer_count), false);
  for (const absl::string_view part : absl::StrSplit(text, ',', absl::SkipWhitespace())) {
    int64_t number = 0;
    if (absl::SimpleAtoi(part, &number) && number >= 0 && number < layer_count) {
      out[static_cast<size_t>(number)] = true;
    } else {
      config.Refuse(name, absl::StrCat("must be numbers of layers from 0 to ", layer_count - 1,
                                       " with commas between"));
    }
  }
  return out;
}

// The sizes of layers with a window are in attention_other_setting. Modules of multi-token
// prediction are dense layers with a window.
void ReadStepOptions(ConfigReader& config, DecoderDraft& draft) {
  if (!config.Has("use_head_wise_attn_gate")) {
    config.Refuse("use_head_wise_attn_gate",
                  "is required, true or false: codes differ in its default");
  }
  if (config.Flag("use_head_wise_attn_gate", false)) {
    draft.style.output_gate = OutputGate::kPerHead;
  }
  draft.window = config.Span("sliding_window", 512);
  if (!ReadLayerTypes(config, draft, draft.prediction_module_count)) {
    config.Refuse("layer_types", "is required: write full_attention or sliding_attention a layer");
  }
  Pass(config, {"attention_other_setting.attention_type", "att_impl_type", "moe_every_n_layer",
                "moe_router_activation", "need_fp32_gate", "norm_expert_weight", "swiglu_limits",
                "swiglu_limits_shared", "use_qk_norm", "use_rope_layers", "yarn_only_types",
                "zero_centered"});
  draft.experts->router_correction_bias = config.Flag("use_moe_router_bias", true);
  const auto other = [&config](absl::string_view name, int64_t most) {
    return config.RequiredSize(absl::StrCat("attention_other_setting.", name), most);
  };
  WindowAttention window = {.head_count = other("num_attention_heads", kMaxHeadCount),
                            .key_value_head_count = other("num_attention_groups", kMaxHeadCount),
                            .head_size = other("head_dim", kMaxHeadSize)};
  window.value_head_size = window.head_size;
  draft.window_attention = window;
  if (config.Find("moe_layers_enum") == nullptr) config.Refuse("moe_layers_enum", "is required");
  const std::vector<bool> with_experts = LayersInText(config.Text("moe_layers_enum", ""),
                                                      "moe_layers_enum", draft.layer_count, config);
  SetExpertLayers([&](int64_t i) { return with_experts[static_cast<size_t>(i)]; }, draft);
  draft.experts->shared_expert_count = 1;
  draft.experts->shared_expert = {
      .kind = FeedForwardKind::kGated,
      .size = config.RequiredSize("share_expert_dim", kMaxFeedForwardSize)};
  draft.prediction_layer = LayerTraits{.span = LayerSpan::kWindow};
}

// One number of heads for all layers with a window, and one for the others, of a list with a number
// a layer.
void ReadHeadsPerLayer(ConfigReader& config, DecoderDraft& draft) {
  constexpr absl::string_view kName = "num_attention_heads_per_layer";
  const auto heads = config.Integers(kName);
  if (!heads.has_value()) return;
  WindowAttention window = {.key_value_head_count = draft.key_value_head_count,
                            .head_size = draft.head_size,
                            .value_head_size = draft.head_size};
  if (draft.spans.empty()) draft.spans.assign(heads->size(), LayerSpan::kAll);
  if (static_cast<int64_t>(heads->size()) != draft.layer_count ||
      heads->size() != draft.spans.size()) {
    return config.Refuse(kName, "must have a number for each layer");
  }
  int64_t full = 0;
  for (size_t i = 0; i < heads->size(); ++i) {
    int64_t& of = draft.spans[i] == LayerSpan::kWindow ? window.head_count : full;
    if (of == 0) of = (*heads)[i];
    if (of != (*heads)[i] || of < 1 || of > kMaxHeadCount) {
      return config.Refuse(kName,
                           "must be one number for all layers of a type: describe others "
                           "in model.architecture");
    }
  }
  if (full > 0) draft.head_count = full;
  if (window.head_count > 0) draft.window_attention = window;
}

// A gate a head (true), or a channel.
OutputGate ReadGating(ConfigReader& config) {
  const ConfigValue* gating = config.Find("gating");
  if (gating == nullptr || gating->kind != ConfigValue::Kind::kText) {
    return config.Flag("gating", true) ? OutputGate::kPerHead : OutputGate::kNone;
  }
  if (gating->text == "per-element") return OutputGate::kPerChannel;
  if (gating->text != "per-head") {
    config.Refuse("gating", "must be true, false, per-head or per-element");
  }
  return OutputGate::kPerHead;
}

void ReadLagunaOptions(ConfigReader& config, DecoderDraft& draft) {
  draft.style.output_gate = ReadGating(config);
  const bool by_head = draft.style.output_gate == OutputGate::kPerHead;
  RequireType("gating_types", by_head ? "per_head" : "per_element", draft, config);
  if (config.Count("decoder_sparse_step", 1) != 1) {
    config.Refuse("decoder_sparse_step", "must be 1: mlp_layer_types says which have experts");
  }
  draft.window = config.Span("sliding_window", 512);
  ReadLayerTypes(config, draft);
  ReadHeadsPerLayer(config, draft);
  draft.experts->shared_expert_count = 1;
  draft.experts->shared_expert = {
      .kind = FeedForwardKind::kGated,
      .size = config.RequiredSize("shared_expert_intermediate_size", kMaxFeedForwardSize)};
  const auto dense = ReadLayerNumbers(config, "mlp_only_layers", draft);
  if (ReadFeedForwardTypes(config, draft)) return;
  SetExpertLayers(
      [&](int64_t i) { return dense.has_value() ? !(*dense)[static_cast<size_t>(i)] : i > 0; },
      draft);
}

// 1 in `name` marks a layer; false, with a violation, where it does not name all layers.
bool ReadLayerMarks(absl::string_view name, ConfigReader& config, const DecoderDraft& draft,
                    std::vector<int64_t>& out) {
  const auto marks = config.Integers(name);
  if (marks.has_value() && static_cast<int64_t>(marks->size()) == draft.layer_count &&
      std::all_of(marks->begin(), marks->end(), [](int64_t m) { return m == 0 || m == 1; })) {
    out = *marks;
    return true;
  }
  config.Refuse(name, "must have 0 or 1 for each layer");
  return false;
}

void ReadMimoV2Options(ConfigReader& config, DecoderDraft& draft) {
  Pass(config, {"attention_chunk_size", "attention_value_scale", "hybrid_block_size",
                "swa_rope_theta", "topk_method"});
  draft.value_head_size = config.RequiredSize("v_head_dim", kMaxHeadSize);
  const auto or_else = [&config](absl::string_view name, int64_t other) {
    const int64_t own = config.Size(name);
    return own == 0 ? other : own;
  };
  draft.window_attention = WindowAttention{
      .head_count = or_else("swa_num_attention_heads", draft.head_count),
      .key_value_head_count = or_else("swa_num_key_value_heads", draft.key_value_head_count),
      .head_size = or_else("swa_head_dim", draft.head_size),
      .value_head_size = or_else("swa_v_head_dim", draft.value_head_size),
      .sinks = config.Flag("add_swa_attention_sink_bias", false)};
  draft.sinks = config.Flag("add_full_attention_sink_bias", false);
  draft.window = or_else("sliding_window", config.Size("sliding_window_size"));
  if (draft.window == 0) config.Refuse("sliding_window", "is required");
  std::vector<int64_t> marks;
  if (ReadLayerMarks("hybrid_layer_pattern", config, draft, marks)) {
    SetSpans(
        LayerSpan::kWindow, [&](int64_t i) { return marks[static_cast<size_t>(i)] == 1; }, draft);
  }
  if (ReadLayerMarks("moe_layer_freq", config, draft, marks)) {
    SetExpertLayers([&](int64_t i) { return marks[static_cast<size_t>(i)] == 1; }, draft);
  }
}

// Layers without a window have heads of their own size and number, and with attention_k_eq_v no
// matrix of values.
void ReadGemma4Attention(ConfigReader& config, DecoderDraft& draft) {
  const int64_t heads = draft.head_count;
  draft.window_attention = WindowAttention{.head_count = heads,
                                           .key_value_head_count = draft.key_value_head_count,
                                           .head_size = draft.head_size,
                                           .value_head_size = draft.head_size};
  const int64_t size = config.Size("global_head_dim");
  if (size > 0) draft.head_size = size;
  const int64_t keys = config.Size("num_global_key_value_heads");
  draft.values_are_keys = config.Flag("attention_k_eq_v", false);
  if (draft.values_are_keys && keys > 0) draft.key_value_head_count = keys;
  draft.window = config.Span("sliding_window", 512);
  if (!ReadLayerTypes(config, draft)) {
    config.Refuse("layer_types", "is required: write full_attention or sliding_attention a layer");
  }
}

// Experts and a feed-forward in each layer, each with norms of its own.
void ReadGemma4Experts(ConfigReader& config, DecoderDraft& draft) {
  const int64_t size = config.RequiredSize("moe_intermediate_size", kMaxFeedForwardSize);
  ReadExperts(config, {.expert_count = "num_experts", .experts_per_token = "top_k_experts"}, size,
              draft);
  draft.experts->expert_scales = true;
  draft.experts_and_dense = true;
  draft.style.norms.before_experts = draft.style.norms.before_sum = true;
}

void ReadGemma4Options(ConfigReader& config, DecoderDraft& draft) {
  ReadAttentionBias(config, draft);
  ReadGemma4Attention(config, draft);
  if (config.Flag("enable_moe_block", false)) {
    ReadGemma4Experts(config, draft);
  } else {
    Pass(config, {"moe_intermediate_size", "num_experts", "top_k_experts"});
  }
  draft.output_scale = true;
  Pass(config, {"vocab_size_per_layer_input"});
  for (const absl::string_view name : {"hidden_size_per_layer_input", "num_kv_shared_layers"}) {
    if (config.Count(name, 0) != 0) {
      config.Refuse(name,
                    "must be 0: embeddings of each layer, and keys and values that layers "
                    "share, are not supported yet");
    }
  }
  if (config.Flag("use_double_wide_mlp", false)) {
    config.Refuse("use_double_wide_mlp", "must be false: layers of two widths are not supported");
  }
  // Tokens of pictures see one another; those of text see earlier ones alone.
  if (config.Text("use_bidirectional_attention", "vision") != "vision") {
    config.Refuse("use_bidirectional_attention", "must be vision: text attends to earlier tokens");
  }
}

constexpr Family kWindowedFamilies[] = {
    {.model_type = "step3p5",
     .architecture = "Step3p5ForCausalLM",
     .names = kStepNames,
     .style = kPerHeadNorms,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .experts = {.expert_count = "moe_num_experts",
                 .experts_per_token = "moe_top_k",
                 .correction_bias = {.if_absent = true}},
     .prediction_modules = "num_nextn_predict_layers",
     .read_options = ReadStepOptions},
    {.model_type = "laguna",
     .architecture = "LagunaForCausalLM",
     .style = kPerHeadNorms,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .query_key_value_bias = {"attention_bias"},
     .attention_output_bias = {"attention_bias"},
     .experts = {.expert_count = "num_experts", .correction_bias = {.if_absent = true}},
     .read_options = ReadLagunaOptions},
    {.model_type = "gemma4_text",
     .architecture = "Gemma4ForCausalLM",
     .style = kGemma4Style,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .read_options = ReadGemma4Options},
    {.model_type = "mimo_v2_flash",
     .architecture = "MiMoV2FlashForCausalLM",
     .key_value_head_count_required = true,
     .head_size_required = true,
     .query_key_value_bias = {"attention_bias"},
     .experts = {.expert_count = "n_routed_experts",
                 .shared_count = "n_shared_experts",
                 .none_if_absent = true,
                 .correction_bias = {.if_absent = true}},
     .read_options = ReadMimoV2Options},
};

}  // namespace

absl::Span<const Family> WindowedFamilies() { return kWindowedFamilies; }

}  // namespace sextant
