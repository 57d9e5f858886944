// Families with multi-head latent attention: DeepSeek's, and Kimi's in DeepSeek-V3's code.
//
// Read in huggingface/transformers src/transformers/models: configuration_deepseek_v2.py
// @008e57439125, configuration_deepseek_v3.py @001f85b38fb4. From DeepSeek's own code, from
// memory: moe_layer_freq skips layers, and which topk_method has a correction bias. The effect of
// zeros: modeling_deepseek_v2.py @0233e509531a. Shared indexers: modular_glm_moe_dsa.py, and the
// published total of GLM-5.2, which has one in the module of multi-token prediction.
// modeling_longcat_flash.py, from memory.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/config/families.h"
#include "engine/model/config/layer_patterns.h"

namespace sextant {
namespace {

constexpr SizeNames kNames = {.head_size = ""};

constexpr DecoderStyle kStyle = {};

constexpr DecoderStyle kTiedStyleOfLatent = {.tied = true};

// Null means none, but the default of an absent field is one model's number.
void RequireField(ConfigReader& config, absl::string_view name) {
  if (!config.Has(name)) config.Refuse(name, "is required: write a size, or null for none");
}

// The rank of compressed queries; 0: not compressed, which a config expresses only by null. At a
// rank of 0 transformers would leave queries of only zeros.
int64_t ReadQueryRank(ConfigReader& config) {
  RequireField(config, "q_lora_rank");
  if (config.Find("q_lora_rank") == nullptr) return 0;
  return config.RequiredSize("q_lora_rank", kMaxHiddenSize);
}

// 0 means none, like null: transformers then makes a feed-forward without width, which has no
// parameters and adds nothing.
int64_t ReadSharedExpertCount(ConfigReader& config) {
  RequireField(config, "n_shared_experts");
  const int64_t count = config.Count("n_shared_experts", 0);
  if (count > kMaxExpertCount) {
    config.Refuse("n_shared_experts", absl::StrCat("must be at most ", kMaxExpertCount));
  }
  return count;
}

}  // namespace

// Keys have a plain part, which comes from the latent, and a rotary part.
void ReadLatentAttention(ConfigReader& config, DecoderDraft& draft) {
  LatentSpec latent;
  latent.query_rank = ReadQueryRank(config);
  latent.key_value_rank = config.RequiredSize("kv_lora_rank", kMaxHiddenSize);
  latent.rotary_size = config.RequiredSize("qk_rope_head_dim", kMaxHeadSize / 2);
  latent.down_bias = config.Flag("attention_bias", false);
  draft.head_size = latent.rotary_size + config.RequiredSize("qk_nope_head_dim", kMaxHeadSize / 2);
  draft.value_head_size = config.RequiredSize("v_head_dim", kMaxHeadSize);
  draft.style.attention_output_bias = latent.down_bias;
  const int64_t whole = config.Size("qk_head_dim");
  if (whole != 0 && whole != draft.head_size) {
    config.Refuse("qk_head_dim", "is not qk_nope_head_dim and qk_rope_head_dim: correct them");
  }
  draft.latent = latent;
  if (draft.key_value_head_count != 0 && draft.key_value_head_count != draft.head_count) {
    config.Refuse("num_key_value_heads",
                  absl::StrCat("must be num_attention_heads (", draft.head_count,
                               "): a latent is expanded for every head"));
  }
  draft.key_value_head_count = draft.head_count;
}

namespace {

// transformers writes the rotary part as head_dim, and takes it whatever a file says; GLM-5.2's has
// the plain part.
void ReadDeepseekAttention(ConfigReader& config, DecoderDraft& draft) {
  ReadLatentAttention(config, draft);
  const int64_t head_dim = config.Size("head_dim");
  const int64_t rotary = draft.latent->rotary_size;
  if (head_dim != 0 && head_dim != rotary && head_dim != draft.head_size - rotary) {
    config.Refuse("head_dim", "is not qk_rope_head_dim: remove it, or correct them");
  }
}

// Routed and shared experts of one size. The first first_k_dense_replace layers have none; of the
// others, those whose index is a multiple of moe_layer_freq do. mlp_layer_types says it by name.
void ReadLatentExperts(ConfigReader& config, DecoderDraft& draft) {
  const int64_t size = config.RequiredSize("moe_intermediate_size", kMaxFeedForwardSize);
  ReadExperts(config, {.expert_count = "n_routed_experts"}, size, draft);
  const int64_t shared = ReadSharedExpertCount(config);
  draft.experts->shared_expert_count = shared;
  if (shared > 0) draft.experts->shared_expert = draft.experts->expert;
  int64_t every = config.Size("moe_layer_freq");
  if (every == 0) every = 1;
  if (ReadFeedForwardTypes(config, draft)) {
    config.Count("first_k_dense_replace", 0);
    return;
  }
  if (!config.Has("first_k_dense_replace")) config.Refuse("first_k_dense_replace", "is required");
  const int64_t first = config.Count("first_k_dense_replace", 0);
  if (first > draft.layer_count && draft.layer_count > 0) {
    config.Refuse("first_k_dense_replace",
                  absl::StrCat("must be 0 to ", draft.layer_count, ", not ", first));
  }
  SetExpertLayers([&](int64_t i) { return i >= first && i % every == 0; }, draft);
}

void ReadDeepseekV2Options(ConfigReader& config, DecoderDraft& draft) {
  ReadDeepseekAttention(config, draft);
  ReadLatentExperts(config, draft);
  if (config.Text("topk_method", "greedy") == "group_limited_greedy") {
    ReadExpertGroups(config, *draft.experts);
  }
  if (config.Flag("mlp_bias", false)) {
    config.Refuse("mlp_bias", "must be false: whether experts then have a bias is not known");
  }
}

// Routing balanced by a bias. num_nextn_predict_layers are multi-token prediction modules, which
// transformers omits and training has: docs/architecture.md.
void ReadDeepseekV3Options(ConfigReader& config, DecoderDraft& draft) {
  ReadDeepseekAttention(config, draft);
  ReadLatentExperts(config, draft);
  const std::string method = config.Text("topk_method", "noaux_tc");
  if (method != "noaux_tc") {
    config.Refuse("topk_method", "must be noaux_tc: the router of this family has its bias");
  }
  draft.experts->router_correction_bias = true;
  ReadExpertGroups(config, *draft.experts);
  draft.prediction_module_count = config.Count("num_nextn_predict_layers", 0);
  if (draft.prediction_module_count > kMaxLayerCount) {
    config.Refuse("num_nextn_predict_layers", absl::StrCat("must be at most ", kMaxLayerCount));
  }
}

// An indexer in each layer.
void ReadIndexedOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadDeepseekV3Options(config, draft);
  draft.latent->indexer =
      IndexerSpec{.head_count = config.RequiredSize("index_n_heads", kMaxHeadCount),
                  .head_size = config.RequiredSize("index_head_dim", kMaxHeadSize),
                  .chosen_count = config.RequiredSize("index_topk", kMaxLayerCount)};
  if (draft.latent->query_rank == 0) {
    config.Refuse("q_lora_rank", "must be a size: the indexer reads compressed queries");
  }
  Pass(config, {"indexer_rope_interleave", "index_share_for_mtp_iteration"});
  RequireType("layer_types", "deepseek_sparse_attention", draft, config);
}

// No layer shares an indexer.
void ReadDeepseekV32Options(ConfigReader& config, DecoderDraft& draft) {
  ReadIndexedOptions(config, draft);
  RequireType("indexer_types", "full", draft, config);
  config.Find("index_skip_topk_offset");
  if (config.Size("index_topk_freq") > 1) {
    config.Refuse("index_topk_freq", "must be 1: layers of glm_moe_dsa alone share an indexer");
  }
}

// Which layers use the choice of an earlier one: indexer_types, or the letters index_topk_pattern,
// or all but each index_topk_freq-th after the first index_skip_topk_offset.
std::vector<bool> ReadSharedIndexers(ConfigReader& config, int64_t layer_count) {
  absl::string_view name = "index_topk_pattern";
  std::string letters = config.Text(name, "");
  const auto types = config.Texts("indexer_types");
  const int64_t every = std::max(config.Size("index_topk_freq"), int64_t{1});
  const int64_t first = config.Count("index_skip_topk_offset", 2);
  if (types.has_value()) {
    name = "indexer_types";
    letters.clear();
    for (const std::string& type : *types) {
      letters += type == "full" ? 'F' : type == "shared" ? 'S' : '?';
    }
  } else if (letters.empty()) {
    name = "index_skip_topk_offset";
    for (int64_t i = 0; i < layer_count; ++i) {
      letters += std::max(i - first + 1, int64_t{0}) % every == 0 ? 'F' : 'S';
    }
  }
  if (layer_count == 0) return {};  // reported already
  if (static_cast<int64_t>(letters.size()) != layer_count || letters.front() != 'F' ||
      letters.find_first_not_of("FS") != std::string::npos) {
    config.Refuse(name,
                  absl::StrCat("must say of ", layer_count,
                               " layers which are full and which shared, the first being full"));
    return {};
  }
  std::vector<bool> out;
  for (const char letter : letters) out.push_back(letter == 'S');
  return out;
}

// A module of multi-token prediction has an indexer of its own.
void ReadGlmMoeDsaOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadIndexedOptions(config, draft);
  draft.shared_indexers = ReadSharedIndexers(config, draft.layer_count);
  draft.prediction_layer =
      LayerTraits{.experts = draft.expert_layers.empty() || draft.expert_layers.back()};
}

// A published layer is two of attention and a feed-forward each, and experts that read the first
// feed-forward's input. transformers adds the experts' output after the second feed-forward; here
// it is added after the first, which changes no parameter, product or kept tensor.
int64_t CountLongcatLayers(ConfigReader& config) {
  return 2 * config.RequiredSize("num_layers", kMaxLayerCount / 2);
}

// A router chooses moe_topk of all experts, those without parameters among them: where it chooses
// each equally often, a token goes to moe_topk n_routed_experts / (n_routed_experts +
// zero_expert_num) of the others. Source: Meituan 2025 (arXiv 2509.01322) section 2.1, from memory.
void ReadLongcatExperts(ConfigReader& config, DecoderDraft& draft) {
  const int64_t size = config.RequiredSize("expert_ffn_hidden_size", kMaxFeedForwardSize);
  ExpertsSpec experts = {.expert_count = config.RequiredSize("n_routed_experts", kMaxExpertCount),
                         .expert = {.kind = FeedForwardKind::kGated, .size = size},
                         .router_bias = config.Flag("router_bias", false),
                         .router_correction_bias = true,
                         .zero_expert_count = config.Count("zero_expert_num", 0)};
  const int64_t chosen = config.RequiredSize("moe_topk", kMaxExpertCount);
  if (experts.zero_expert_count > kMaxExpertCount) {
    config.Refuse("zero_expert_num", absl::StrCat("must be at most ", kMaxExpertCount));
  }
  if (!config.ok()) return;
  const int64_t all = RouterSize(experts);
  experts.experts_per_token = chosen * experts.expert_count / all;
  if (chosen > all || chosen * experts.expert_count % all != 0) {
    config.Refuse("moe_topk", absl::StrCat("makes no whole number of experts with parameters a "
                                           "token, ",
                                           chosen, " x ", experts.expert_count, " / ", all,
                                           ": describe the model in model.architecture"));
  }
  draft.experts = experts;
}

void ReadLongcatOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadLatentAttention(config, draft);
  ReadLongcatExperts(config, draft);
  if (config.Text("zero_expert_type", "identity") != "identity") {
    config.Refuse("zero_expert_type", "must be identity: others are not supported yet");
  }
  if (config.Text("attention_method", "MLA") != "MLA") {
    config.Refuse("attention_method", "must be MLA");
  }
  Pass(config, {"mla_scale_q_lora", "mla_scale_kv_lora"});
  const int64_t whole = config.Size("num_hidden_layers");
  if (whole != 0 && whole != draft.layer_count) {
    config.Refuse("num_hidden_layers", "must be twice num_layers: remove it, or correct them");
  }
  SetExpertLayers([](int64_t i) { return i % 2 == 0; }, draft);
  draft.experts_and_dense = true;
}

// No experts.
void ReadYoutuOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadDeepseekAttention(config, draft);
  draft.style.feed_forward_bias = config.Flag("mlp_bias", false);
}

constexpr SizeNames kLongcatNames = {
    .layer_count = "num_layers", .feed_forward_size = "ffn_hidden_size", .head_size = ""};

constexpr absl::string_view kYoutuAlso[] = {"YoutuForCausalLM"};

constexpr Family kLatentFamilies[] = {
    {.model_type = "deepseek_v2",
     .architecture = "DeepseekV2ForCausalLM",
     .names = kNames,
     .style = kStyle,
     .read_options = ReadDeepseekV2Options},
    {.model_type = "deepseek_v3",
     .architecture = "DeepseekV3ForCausalLM",
     .names = kNames,
     .style = kStyle,
     .read_options = ReadDeepseekV3Options},
    {.model_type = "kimi_k2",
     .architecture = "DeepseekV3ForCausalLM",
     .names = kNames,
     .style = kStyle,
     .read_options = ReadDeepseekV3Options},
    {.model_type = "glm4_moe_lite",
     .architecture = "Glm4MoeLiteForCausalLM",
     .names = kNames,
     .style = kStyle,
     .read_options = ReadDeepseekV3Options},
    {.model_type = "deepseek_v32",
     .architecture = "DeepseekV32ForCausalLM",
     .names = kNames,
     .style = kStyle,
     .read_options = ReadDeepseekV32Options},
    {.model_type = "glm_moe_dsa",
     .architecture = "GlmMoeDsaForCausalLM",
     .names = kNames,
     .style = kStyle,
     .read_options = ReadGlmMoeDsaOptions},
    {.model_type = "longcat_flash",
     .architecture = "LongcatFlashForCausalLM",
     .names = kLongcatNames,
     .style = kStyle,
     .count_layers = CountLongcatLayers,
     .read_options = ReadLongcatOptions},
    {.model_type = "youtu_llm",
     .architecture = "YoutuLLMForCausalLM",
     .also_architectures = kYoutuAlso,
     .names = kNames,
     .style = kTiedStyleOfLatent,
     .read_options = ReadYoutuOptions},
    {.model_type = "youtu",
     .architecture = "YoutuForCausalLM",
     .names = kNames,
     .style = kTiedStyleOfLatent,
     .read_options = ReadYoutuOptions},
};

}  // namespace

absl::Span<const Family> LatentFamilies() { return kLatentFamilies; }

}  // namespace sextant
