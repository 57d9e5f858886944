// Decoders some of whose layers have a delta rule, lightning attention or a short convolution in
// place of attention.
//
// Read in huggingface/transformers src/transformers/models (August 2026): modeling_*.py and
// configuration_*.py of qwen3_next, qwen3_5, qwen3_5_moe, lfm2 and lfm2_moe; in ml-explore/mlx-lm
// mlx_lm/models/kimi_linear.py; ggml-org/llama.cpp's converter of bailing_hybrid, an excerpt (text
// index id 57419669165). The published totals that the tests compare with confirm all but the last.
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/config/families.h"
#include "engine/model/config/layer_patterns.h"

namespace sextant {
namespace {

constexpr DecoderStyle kQwenStyle = {.query_key_norm = QueryKeyNorm::kPerHead,
                                     .output_gate = OutputGate::kPerChannel};

constexpr DecoderStyle kLfmStyle = {.query_key_norm = QueryKeyNorm::kPerHead, .tied = true};

constexpr SizeNames kNoHeadSizeOfLatent = {.head_size = ""};

constexpr SizeNames kLfm2Names = {.feed_forward_size = {"intermediate_size", "block_ff_dim"},
                                  .head_size = ""};

constexpr SizeNames kLfm2MoeNames = {.head_size = ""};

// linear_attention or full_attention a layer; else every `full_attention_interval`-th has
// attention.
void ReadQwenLayers(ConfigReader& config, DecoderDraft& draft) {
  int64_t interval = config.Size("full_attention_interval");
  if (interval == 0) interval = 4;
  if (ReadMixerTypes("layer_types", {.attention = "full_attention", .mixer = "linear_attention"},
                     kMixerAndFeedForward, config, draft)) {
    return;
  }
  SetParts([interval](int64_t i) { return (i + 1) % interval == 0; }, kMixerAndFeedForward, draft);
}

void ReadDeltaNet(ConfigReader& config, DecoderDraft& draft) {
  MixerSpec mixer = {
      .kind = MixerKind::kGatedDeltaNet,
      .head_count = config.RequiredSize("linear_num_value_heads", kMaxHeadCount),
      .head_size = config.RequiredSize("linear_value_head_dim", kMaxHeadSize),
      .group_count = config.RequiredSize("linear_num_key_heads", kMaxHeadCount),
      .state_size = config.RequiredSize("linear_key_head_dim", kMaxHeadSize),
      .convolution_size = config.RequiredSize("linear_conv_kernel_dim", kMaxConvolutionSize)};
  if (mixer.group_count > 0 && mixer.head_count % mixer.group_count != 0) {
    config.Refuse("linear_num_key_heads", "must divide linear_num_value_heads");
  }
  draft.mixer = mixer;
  ReadQwenLayers(config, draft);
}

// A module of multi-token prediction has attention, and a feed-forward as the last layer.
void ReadQwen35Options(ConfigReader& config, DecoderDraft& draft) {
  ReadAttentionBias(config, draft);
  ReadDeltaNet(config, draft);
  if (!config.Flag("attn_output_gate", true)) draft.style.output_gate = OutputGate::kNone;
  if (config.Flag("mtp_use_dedicated_embeddings", false)) {
    config.Refuse("mtp_use_dedicated_embeddings",
                  "must be false: modules with embeddings of their own are not supported yet");
  }
  config.Find("mlp_only_layers");
  draft.prediction_layer = LayerTraits{};
}

void ReadQwen3NextOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadAttentionBias(config, draft);
  ReadDeltaNet(config, draft);
  ReadQwenExperts(config, draft);
  ReadGatedSharedExpert(config, *draft.experts);
}

void ReadQwen35MoeOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadQwen35Options(config, draft);
  ReadQwenExperts(config, draft);
  ReadGatedSharedExpert(config, *draft.experts);
  draft.prediction_layer->experts = draft.expert_layers.empty() || draft.expert_layers.back();
}

// The layers of attention, or else of the mixer, numbered from 1 in `name`.
std::vector<bool> ReadNumbersFromOne(absl::string_view name, const DecoderDraft& draft,
                                     ConfigReader& config) {
  std::vector<bool> out(static_cast<size_t>(draft.layer_count), false);
  const auto numbers = config.Integers(name);
  if (!numbers.has_value()) config.Refuse(name, "is required: numbers of layers from 1 on");
  for (const int64_t number : numbers.value_or(std::vector<int64_t>())) {
    if (number >= 1 && number <= draft.layer_count) {
      out[static_cast<size_t>(number - 1)] = true;
    } else {
      config.Refuse(name, absl::StrCat("must number layers from 1 to ", draft.layer_count));
    }
  }
  return out;
}

// Heads of keys and values alike; decays and gates by matrices of rank d, or each by one.
MixerSpec KimiDelta(int64_t heads, int64_t head_size, int64_t convolution, bool low_rank) {
  return {.kind = MixerKind::kKimiDelta,
          .head_count = heads,
          .head_size = head_size,
          .group_count = heads,
          .state_size = head_size,
          .convolution_size = convolution,
          .decay_rank = low_rank ? head_size : 0,
          .gate_rank = low_rank ? head_size : 0};
}

// Layers of Kimi K3 that Kimi Linear lacks.
void RefuseKimiK3(ConfigReader& config) {
  constexpr absl::string_view kResiduals = "attn_res_block_size";
  if (config.Find(kResiduals) == nullptr) return;
  config.Refuse(kResiduals,
                "says that layers attend to the residuals of earlier ones (Kimi K3), not supported "
                "yet");
}

void ReadKimiLinearOptions(ConfigReader& config, DecoderDraft& draft) {
  RefuseKimiK3(config);
  config.Find("head_dim");
  Pass(config, {"mla_use_nope", "moe_router_activation_func", "num_expert_group"});
  ReadLatentAttention(config, draft);
  const auto size = [&config](absl::string_view name, int64_t most) {
    return config.RequiredSize(absl::StrCat("linear_attn_config.", name), most);
  };
  draft.mixer = KimiDelta(size("num_heads", kMaxHeadCount), size("head_dim", kMaxHeadSize),
                          size("short_conv_kernel_size", kMaxConvolutionSize), true);
  if (config.Count("num_expert_group", 1) > 1) {
    config.Refuse("num_expert_group", "must be 1: groups of experts are not supported here");
  }
  const auto attends = ReadNumbersFromOne("linear_attn_config.full_attn_layers", draft, config);
  auto mixes = ReadNumbersFromOne("linear_attn_config.kda_layers", draft, config);
  if (!config.ok()) return;
  mixes.flip();
  if (mixes != attends) {
    config.Refuse("linear_attn_config.kda_layers",
                  "must have each layer that full_attn_layers lacks, and no other");
  }
  SetParts([&](int64_t i) { return attends[static_cast<size_t>(i)]; }, kMixerAndFeedForward, draft);
}

// The last layer of each `layer_group_size` has attention, and those after the last whole group.
void ReadBailingHybridOptions(ConfigReader& config, DecoderDraft& draft) {
  const int64_t head_size = config.RequiredSize("head_dim", kMaxHeadSize);
  for (const absl::string_view name : {"short_conv_kernel_size", "no_kda_lora"}) {
    if (config.Has(name)) continue;
    config.Refuse(name,
                  "is required: without it layers hold lightning attention (linear attention), "
                  "which is not supported yet");
  }
  draft.mixer = KimiDelta(draft.head_count, head_size,
                          config.RequiredSize("short_conv_kernel_size", kMaxConvolutionSize),
                          !config.Flag("no_kda_lora", false));
  ReadLatentAttention(config, draft);
  const std::string gate = config.Text("gated_attention_proj_granularity_type", "");
  if (gate == "head_wise") draft.style.output_gate = OutputGate::kPerHead;
  if (gate == "element_wise") draft.style.output_gate = OutputGate::kPerChannel;
  if (gate.empty() || draft.style.output_gate == OutputGate::kNone) {
    config.Refuse("gated_attention_proj_granularity_type", "must be head_wise or element_wise");
  }
  Pass(config, {"group_norm_size", "kda_lower_bound", "kda_safe_gate", "linear_silu",
                "max_window_layers", "mtp_loss_scaling_factor", "router_dtype", "use_qk_norm"});
  const int64_t group = config.RequiredSize("layer_group_size", kMaxLayerCount);
  if (group == 0) return;
  const int64_t whole = draft.layer_count / group * group;
  SetParts([group, whole](int64_t i) { return (i + 1) % group == 0 || i >= whole; },
           kMixerAndFeedForward, draft);
  draft.prediction_layer = LayerTraits{.experts = true};
}

void ReadConvolution(ConfigReader& config, DecoderDraft& draft) {
  const bool bias = config.Flag("conv_bias", false);
  draft.mixer =
      MixerSpec{.kind = MixerKind::kShortConvolution,
                .convolution_size = config.RequiredSize("conv_L_cache", kMaxConvolutionSize),
                .convolution_bias = bias,
                .projection_bias = bias};
  draft.style.tied = config.Flag("tie_embedding", draft.style.tied);
  Pass(config, {"block_dim", "block_mlp_init_scale", "block_norm_eps", "block_out_init_scale",
                "block_use_swiglu", "block_use_xavier_init", "conv_dim", "conv_dim_out",
                "conv_use_xavier_init", "num_heads", "theta", "use_pos_enc"});
  const auto attends = ReadLayerNumbers(config, "full_attn_idxs", draft);
  if (ReadMixerTypes("layer_types", {.attention = "full_attention", .mixer = "conv"},
                     kMixerAndFeedForward, config, draft)) {
    return;
  }
  if (!attends.has_value()) {
    return config.Refuse("layer_types", "is required: write conv or full_attention a layer");
  }
  SetParts([&](int64_t i) { return (*attends)[static_cast<size_t>(i)]; }, kMixerAndFeedForward,
           draft);
}

// Two thirds of the given size, times a factor, rounded up to a multiple.
void ReadLfm2Options(ConfigReader& config, DecoderDraft& draft) {
  ReadConvolution(config, draft);
  const ConfigValue* factor = config.Find("block_ffn_dim_multiplier");
  int64_t multiple = config.Size("block_multiple_of");
  if (multiple == 0) multiple = 256;
  if (!config.Flag("block_auto_adjust_ff_dim", true)) return;
  double times = 1;
  if (factor != nullptr && !(factor->kind == ConfigValue::Kind::kInteger
                                 ? absl::SimpleAtod(absl::StrCat(factor->integer), &times)
                                 : absl::SimpleAtod(factor->text, &times))) {
    times = 0;
  }
  const int64_t third = 2 * draft.feed_forward_size / 3;
  const double width = times * static_cast<double>(third);
  if (!(times > 0 && width <= static_cast<double>(kMaxFeedForwardSize))) {
    return config.Refuse("block_ffn_dim_multiplier", "makes no possible width of feed-forwards");
  }
  if (factor == nullptr && config.Has("block_ffn_dim_multiplier")) {
    draft.feed_forward_size = third;
    return;
  }
  draft.feed_forward_size = CeilDivide(static_cast<int64_t>(width), multiple) * multiple;
}

void ReadLfm2MoeOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadConvolution(config, draft);
}

// 0 is lightning attention, 1 attention. The factors of residuals are constants.
void ReadMiniMaxOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadExperts(config, {.expert_count = "num_local_experts"}, draft.feed_forward_size, draft);
  draft.mixer = MixerSpec{.kind = MixerKind::kLightning,
                          .head_count = draft.head_count,
                          .head_size = draft.head_size,
                          .group_count = draft.head_count,
                          .state_size = draft.head_size};
  if (config.Count("shared_intermediate_size", 0) > 0) {
    config.Refuse("shared_intermediate_size", "must be 0: a shared expert is not known here");
  }
  Pass(config, {"block_size", "full_attn_alpha_factor", "full_attn_beta_factor",
                "layernorm_full_attention_alpha", "layernorm_full_attention_beta",
                "layernorm_linear_attention_alpha", "layernorm_linear_attention_beta",
                "layernorm_mlp_alpha", "layernorm_mlp_beta", "linear_attn_alpha_factor",
                "linear_attn_beta_factor", "mlp_alpha_factor", "mlp_beta_factor", "postnorm",
                "rotary_dim", "shared_moe_mode"});
  if (ReadMixerTypes("layer_types", {.attention = "full_attention", .mixer = "linear_attention"},
                     kMixerAndFeedForward, config, draft)) {
    return;
  }
  const auto types = config.Integers("attn_type_list");
  if (!types.has_value() || static_cast<int64_t>(types->size()) != draft.layer_count) {
    return config.Refuse("attn_type_list", "is required: write 0 or 1 for each layer");
  }
  SetParts([&](int64_t i) { return (*types)[static_cast<size_t>(i)] == 1; }, kMixerAndFeedForward,
           draft);
}

constexpr Family MiniMaxFamily(absl::string_view model_type, absl::string_view architecture) {
  return {.model_type = model_type,
          .architecture = architecture,
          .key_value_head_count_required = true,
          .head_size_required = true,
          .read_options = ReadMiniMaxOptions};
}

constexpr Family QwenFamily(absl::string_view model_type, absl::string_view architecture,
                            void (*read_options)(ConfigReader&, DecoderDraft&)) {
  return {.model_type = model_type,
          .architecture = architecture,
          .style = kQwenStyle,
          .key_value_head_count_required = true,
          .head_size_required = true,
          .feed_forward_of_dense_layers = true,
          .prediction_modules = "mtp_num_hidden_layers",
          .read_options = read_options};
}

constexpr Family kDeltaFamilies[] = {
    MiniMaxFamily("minimax", "MiniMaxForCausalLM"),
    MiniMaxFamily("minimax_text_01", "MiniMaxText01ForCausalLM"),
    MiniMaxFamily("minimax_m1", "MiniMaxM1ForCausalLM"),
    QwenFamily("qwen3_next", "Qwen3NextForCausalLM", ReadQwen3NextOptions),
    QwenFamily("qwen3_5_text", "Qwen3_5ForCausalLM", ReadQwen35Options),
    QwenFamily("qwen3_5_moe_text", "Qwen3_5MoeForCausalLM", ReadQwen35MoeOptions),
    {.model_type = "kimi_linear",
     .architecture = "KimiLinearForCausalLM",
     .names = kNoHeadSizeOfLatent,
     .experts = {.expert_count = "num_experts",
                 .experts_per_token = "num_experts_per_token",
                 .shared_count = "num_shared_experts",
                 .first_dense = "first_k_dense_replace",
                 .correction_bias = {.if_absent = true}},
     .prediction_modules = "num_nextn_predict_layers",
     .read_options = ReadKimiLinearOptions},
    {.model_type = "bailing_hybrid",
     .architecture = "BailingMoeV3ForCausalLM",
     .names = kNoHeadSizeOfLatent,
     .experts = {.expert_count = "num_experts",
                 .shared_count = "num_shared_experts",
                 .shared_size = "moe_shared_expert_intermediate_size",
                 .first_dense = "first_k_dense_replace",
                 .correction_bias = {"moe_router_enable_expert_bias"}},
     .prediction_modules = "num_nextn_predict_layers",
     .read_options = ReadBailingHybridOptions},
    {.model_type = "lfm2",
     .architecture = "Lfm2ForCausalLM",
     .names = kLfm2Names,
     .style = kLfmStyle,
     .key_value_head_count_required = true,
     .read_options = ReadLfm2Options},
    {.model_type = "lfm2_moe",
     .architecture = "Lfm2MoeForCausalLM",
     .names = kLfm2MoeNames,
     .style = kLfmStyle,
     .key_value_head_count_required = true,
     .experts = {.expert_count = "num_experts",
                 .first_dense = "num_dense_layers",
                 .correction_bias = {"use_expert_bias", true}},
     .read_options = ReadLfm2MoeOptions},
};

}  // namespace

absl::Span<const Family> DeltaFamilies() { return kDeltaFamilies; }

}  // namespace sextant
