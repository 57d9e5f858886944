// Mixtures of experts on grouped-query attention, most with DeepSeek-V3's router.
//
// Read in huggingface/transformers src/transformers/models (August 2026): modeling_*.py and
// configuration_*.py of glm4_moe, bailing_moe_v2, dots1, hunyuan_v1_moe, ernie4_5_moe, minimax_m2,
// afmoe; and in ml-explore/mlx-lm mlx_lm/models: bailing_moe.py. The published totals that the
// tests compare with confirm which router has a correction bias.
#include <algorithm>
#include <initializer_list>
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

constexpr DecoderStyle kNormedHeads = {.query_key_norm = QueryKeyNorm::kPerHead};

constexpr DecoderStyle kAfmoeStyle = {.norms = kNormsAround,
                                      .query_key_norm = QueryKeyNorm::kPerHead,
                                      .output_gate = OutputGate::kPerChannel};

constexpr ExpertFields DeepseekExperts(bool none_if_absent) {
  return {.expert_count = "n_routed_experts",
          .shared_count = "n_shared_experts",
          .first_dense = "first_k_dense_replace",
          .none_if_absent = none_if_absent,
          .correction_bias = {.if_absent = true}};
}

constexpr ExpertFields kLingExperts = {.expert_count = "num_experts",
                                       .shared_count = "num_shared_experts",
                                       .shared_size = "moe_shared_expert_intermediate_size",
                                       .first_dense = "first_k_dense_replace",
                                       .correction_bias = {"moe_router_enable_expert_bias"}};

// Parts that the published files of MiniMax-M2 and Ernie-4.5 name and don't hold.
constexpr absl::string_view kMiniMaxLeftOut[] = {"mtp_transformer_layers", "num_mtp_modules",
                                                 "use_mtp"};
constexpr absl::string_view kErnieLeftOut[] = {"num_nextn_predict_layers"};

constexpr absl::string_view kBailingAlso[] = {"BailingMoeForCausalLM"};

void RefuseTrue(ConfigReader& config, absl::string_view name) {
  if (config.Flag(name, false)) {
    config.Refuse(name, "must be false: what it adds is not supported yet");
  }
}

// Where all layers have experts, the dense size of this family is that of an expert.
void RequireSameSize(ConfigReader& config, const DecoderDraft& draft) {
  if (draft.experts->expert.size != draft.feed_forward_size && draft.feed_forward_size > 0) {
    config.Refuse("moe_intermediate_size",
                  absl::StrCat("must be intermediate_size (", draft.feed_forward_size,
                               "), which this family's code takes for shared experts"));
  }
}

void ReadBailingOptions(ConfigReader& config, DecoderDraft& draft) {
  const bool bias = config.Flag("use_bias", false);
  draft.style.attention_output_bias = bias;
  if (bias) config.Refuse("use_bias", "must be false: which matrices then have one is not known");
  Pass(config, {"norm_head", "norm_softmax"});
}

// The layers from max_window_layers on have the window.
void ReadDotsOptions(ConfigReader& config, DecoderDraft& draft) {
  draft.window = config.Span("sliding_window", 4096);
  const int64_t first = config.Count("max_window_layers", 62);
  if (ReadLayerTypes(config, draft)) return;
  SetSpans(
      LayerSpan::kWindow, [first](int64_t i) { return i >= first; }, draft);
}

void ReadHunyuanOptions(ConfigReader& config, DecoderDraft& draft) {
  RequireSameSize(config, draft);
  RefuseTrue(config, "use_cla");
  RefuseTrue(config, "mlp_bias");
  Pass(config, {"cla_share_factor", "attention_head_dim", "moe_layer_num_skipped", "class_num",
                "dense_list", "num_media_embeds", "org_vocab_size", "pool_type", "skip_cls_token",
                "use_rotary_pos_emb"});
  // Tencent's code has no shared expert without it; transformers' has one either way.
  if (!config.Flag("use_mixed_mlp_moe", true)) {
    config.Refuse("use_mixed_mlp_moe", "must be true: codes differ in what they build without it");
  }
  if (draft.experts->shared_expert_count == 0) draft.experts->shared_expert = {};
}

// Every `moe_layer_interval`-th of the layers from moe_layer_start_index to moe_layer_end_index
// has experts.
void ReadErnieMoeOptions(ConfigReader& config, DecoderDraft& draft) {
  RefuseTrue(config, "use_bias");
  Pass(config, {"moe_capacity", "moe_gate", "moe_use_aux_free", "moe_norm_min",
                "moe_multimodal_paired_experts"});
  const int64_t first = config.Count("moe_layer_start_index", 1);
  int64_t last = draft.layer_count - 1;
  const ConfigValue* end = config.Find("moe_layer_end_index");
  if (end != nullptr && !(end->kind == ConfigValue::Kind::kInteger && end->integer == -1)) {
    last = config.Count("moe_layer_end_index", last);
  }
  int64_t every = config.Size("moe_layer_interval");
  if (every == 0) every = 1;
  SetExpertLayers([=](int64_t i) { return (i + 1) % every == 0 && i >= first && i <= last; },
                  draft);
}

void ReadMiniMaxM2Options(ConfigReader& config, DecoderDraft&) {
  Pass(config, {"layernorm_full_attention_beta", "layernorm_linear_attention_beta",
                "layernorm_mlp_beta", "mlp_intermediate_size", "shared_moe_mode"});
  for (const int64_t type : config.Integers("attn_type_list").value_or(std::vector<int64_t>{})) {
    if (type == 1) continue;
    config.Refuse("attn_type_list", "must be 1 for each layer: linear attention is not supported");
    break;
  }
  if (config.Text("qk_norm_type", "per_layer") != "per_layer") {
    config.Refuse("qk_norm_type", "must be per_layer: norms over all heads of a layer");
  }
  if (config.Count("shared_intermediate_size", 0) != 0) {
    config.Refuse("shared_intermediate_size", "must be 0: this family has no shared experts");
  }
}

void ReadAfmoeOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadWindowPattern(
      config, {.window_if_absent = 1024, .period = 4, .period_name = "global_attn_every_n_layers"},
      draft);
}

constexpr Family BailingFamily(absl::string_view model_type,
                               absl::Span<const absl::string_view> also_architectures) {
  return {.model_type = model_type,
          .architecture = "BailingMoeV2ForCausalLM",
          .also_architectures = also_architectures,
          .style = kNormedHeads,
          .key_value_head_count_required = true,
          .query_key_value_bias = {"use_qkv_bias"},
          .query_key_norm = {"use_qk_norm"},
          .experts = kLingExperts,
          .prediction_modules = "num_nextn_predict_layers",
          .read_options = ReadBailingOptions};
}

constexpr Family kGroupedFamilies[] = {
    {.model_type = "glm4_moe",
     .architecture = "Glm4MoeForCausalLM",
     .style = kNormedHeads,
     .key_value_head_count_required = true,
     .query_key_value_bias = {"attention_bias"},
     .query_key_norm = {"use_qk_norm"},
     .experts = DeepseekExperts(false),
     .prediction_modules = "num_nextn_predict_layers"},
    BailingFamily("bailing_moe", kBailingAlso),
    BailingFamily("bailing_moe_v2", {}),
    {.model_type = "dots1",
     .architecture = "Dots1ForCausalLM",
     .style = kNormedHeads,
     .key_value_head_count_required = true,
     .query_key_value_bias = {"attention_bias"},
     .attention_output_bias = {"attention_bias"},
     .experts = DeepseekExperts(true),
     .read_options = ReadDotsOptions},
    {.model_type = "hunyuan_v1_moe",
     .architecture = "HunYuanMoEV1ForCausalLM",
     .style = kNormedHeads,
     .query_key_value_bias = {"attention_bias"},
     .attention_output_bias = {"attention_bias"},
     .query_key_norm = {"use_qk_norm", true},
     .experts = {.expert_count = "num_experts",
                 .experts_per_token = "moe_topk",
                 .shared_count = "num_shared_expert"},
     .read_options = ReadHunyuanOptions},
    {.model_type = "ernie4_5_moe",
     .architecture = "Ernie4_5_MoeForCausalLM",
     .style = {.tied = true},
     .key_value_head_count_required = true,
     .experts = {.expert_count = "moe_num_experts",
                 .experts_per_token = "moe_k",
                 .shared_count = "moe_num_shared_experts",
                 .correction_bias = {.if_absent = true}},
     .left_out = kErnieLeftOut,
     .read_options = ReadErnieMoeOptions},
    {.model_type = "minimax_m2",
     .architecture = "MiniMaxM2ForCausalLM",
     .style = {.query_key_norm = QueryKeyNorm::kAllHeads},
     .key_value_head_count_required = true,
     .head_size_required = true,
     .query_key_norm = {"use_qk_norm", true},
     .experts = {.expert_count = "num_local_experts",
                 .expert_size = "intermediate_size",
                 .correction_bias = {"use_routing_bias", true}},
     .left_out = kMiniMaxLeftOut,
     .read_options = ReadMiniMaxM2Options},
    {.model_type = "afmoe",
     .architecture = "AfmoeForCausalLM",
     .style = kAfmoeStyle,
     .head_size_required = true,
     .experts = {.expert_count = "num_experts",
                 .shared_count = "num_shared_experts",
                 .first_dense = "num_dense_layers",
                 .correction_bias = {.if_absent = true}},
     .read_options = ReadAfmoeOptions},
};

}  // namespace

absl::Span<const Family> GroupedFamilies() { return kGroupedFamilies; }

}  // namespace sextant
