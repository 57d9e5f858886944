// Mixtures of experts.
//
// Read in huggingface/transformers src/transformers/models: configuration_*.py @008e57439125 of
// mixtral, qwen2_moe, qwen3_moe, olmoe and llama4 (its text part); configuration_gpt_oss.py
// @02b8f42b4240, configuration_phimoe.py @040e1a7e4bb4, configuration_dbrx.py @032b32abfb07. From
// memory, and confirmed by the published counts that the tests compare with: the matrices with a
// bias. The effect of a shared expert of size 0: modeling_qwen2_moe.py @00a3f9386614.
// Phi-3.5-MoE's file names its own code's class, PhiMoEForCausalLM: as quoted in public text (text
// index ids 6017024208 and 41338317673) and in vllm-project/vllm
// vllm/model_executor/models/registry.py @0002bff0b6cb.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/config/families.h"
#include "engine/model/config/layer_patterns.h"

namespace sextant {
namespace {

constexpr SizeNames kLlama4Names = {.feed_forward_size = "intermediate_size_mlp"};

constexpr SizeNames kDbrxNames = {.layer_count = "n_layers",
                                  .hidden_size = "d_model",
                                  .feed_forward_size = "ffn_config.ffn_hidden_size",
                                  .head_count = "n_heads",
                                  .key_value_head_count = "attn_config.kv_n_heads",
                                  .head_size = ""};

constexpr DecoderStyle kMixtureLlamaStyle = {};

constexpr DecoderStyle kMixtureQwen2Style = {.query_key_value_bias = true};

constexpr DecoderStyle kMixtureQwen3Style = {.query_key_norm = QueryKeyNorm::kPerHead};

constexpr DecoderStyle kOlmoeStyle = {.query_key_norm = QueryKeyNorm::kAllHeads};

constexpr DecoderStyle kPhimoeStyle = {.norm = NormVariant::kLayerNorm};

constexpr DecoderStyle kDbrxStyle = {.norm = NormVariant::kBiasFreeLayerNorm};

void ReadMixtralOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadExperts(config, {.expert_count = "num_local_experts"}, draft.feed_forward_size, draft);
  ReadWindowOfAllLayers(config, 0, draft);
}

void ReadOlmoeOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadAttentionBias(config, draft);
  ReadExperts(config, {.expert_count = "num_experts"}, draft.feed_forward_size, draft);
}

void ReadPhimoeOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadAttentionBias(config, draft);
  draft.style.head_bias = config.Flag("lm_head_bias", false);
  ReadExperts(config, {.expert_count = "num_local_experts"}, draft.feed_forward_size, draft);
  ReadWindowOfAllLayers(config, 0, draft);
}

}  // namespace

void ReadQwenExperts(ConfigReader& config, DecoderDraft& draft) {
  const int64_t size = config.RequiredSize("moe_intermediate_size", kMaxFeedForwardSize);
  ReadExperts(config, {.expert_count = "num_experts"}, size, draft);
  int64_t step = config.Size("decoder_sparse_step");
  if (step == 0) step = 1;
  const auto dense = ReadLayerNumbers(config, "mlp_only_layers", draft);
  SetExpertLayers(
      [&](int64_t i) {
        return (i + 1) % step == 0 && !(dense.has_value() && (*dense)[static_cast<size_t>(i)]);
      },
      draft);
}

// A size of 0 does not mean none: the published code still has the gate of a shared expert, and
// hidden_size weights that scale nothing can't be described.
void ReadGatedSharedExpert(ConfigReader& config, ExpertsSpec& experts) {
  constexpr absl::string_view kName = "shared_expert_intermediate_size";
  if (config.Count(kName, 1) == 0) {
    config.Refuse(kName,
                  "must be at least 1: at 0 this family's code still holds a shared expert's gate, "
                  "which is not supported yet");
    return;
  }
  experts.shared_expert_count = 1;
  experts.shared_expert = {.kind = FeedForwardKind::kGated,
                           .size = config.RequiredSize(kName, kMaxFeedForwardSize)};
  experts.shared_expert_gate = true;
}

namespace {

// Every other one of the first max_window_layers layers has the window, if use_sliding_window is
// set.
void ReadQwen2MoeOptions(ConfigReader& config, DecoderDraft& draft) {
  constexpr int64_t kWindowIfAbsent = 4096;
  constexpr int64_t kLastIfAbsent = 28;
  draft.style.query_key_value_bias = config.Flag("qkv_bias", true);
  ReadQwenExperts(config, draft);
  ReadGatedSharedExpert(config, *draft.experts);
  const bool use = config.Flag("use_sliding_window", false);
  const int64_t window = config.Span("sliding_window", kWindowIfAbsent);
  const int64_t last = config.Count("max_window_layers", kLastIfAbsent);
  draft.window = use ? window : 0;
  if (ReadLayerTypes(config, draft)) return;
  SetSpans(
      LayerSpan::kWindow, [&](int64_t i) { return i % 2 == 0 && i < last; }, draft);
}

// The norms of queries and keys are there whatever use_qk_norm says, which published files have.
void ReadQwen3MoeOptions(ConfigReader& config, DecoderDraft& draft) {
  constexpr int64_t kWindowIfAbsent = 4096;
  config.Flag("use_qk_norm", true);
  ReadAttentionBias(config, draft);
  ReadQwenExperts(config, draft);
  const bool use = config.Flag("use_sliding_window", false);
  const int64_t window = config.Span("sliding_window", kWindowIfAbsent);
  draft.window = use ? window : 0;
  SetSpans(
      LayerSpan::kWindow, [](int64_t) { return true; }, draft);
}

// Biases of router and experts, and sinks, are always present. Some files give the experts per
// token twice.
void ReadGptOssOptions(ConfigReader& config, DecoderDraft& draft) {
  const bool bias = config.Flag("attention_bias", true);
  draft.style.query_key_value_bias = draft.style.attention_output_bias = bias;
  draft.sinks = true;
  ReadExperts(config, {.expert_count = "num_local_experts"}, draft.feed_forward_size, draft);
  draft.experts->router_bias = true;
  draft.experts->expert.input_bias = draft.experts->expert.output_bias = true;
  const int64_t again = config.Size("experts_per_token");
  if (again != 0 && again != draft.experts->experts_per_token) {
    config.Refuse("experts_per_token", "is not num_experts_per_tok: remove it, or correct them");
  }
  ReadWindowPattern(config, {.window_if_absent = 128, .period = 2}, draft);
}

// Layers without rotary positions attend to all tokens, the others within chunks: one in
// `no_rope_layer_interval`, or as in no_rope_layers, where 1 means rotary.
void ReadLlama4Spans(ConfigReader& config, DecoderDraft& draft) {
  draft.chunk = config.Span("attention_chunk_size", 8192);
  int64_t interval = config.Size("no_rope_layer_interval");
  if (interval == 0) interval = 4;
  auto rotary = config.Integers("no_rope_layers");
  if (rotary.has_value() && rotary->empty()) rotary.reset();
  if (ReadLayerTypes(config, draft) || draft.layer_count == 0) return;
  if (rotary.has_value() && static_cast<int64_t>(rotary->size()) < draft.layer_count) {
    config.Refuse("no_rope_layers", "is shorter than the model: write 1 or 0 a layer");
    return;
  }
  SetSpans(
      LayerSpan::kChunk,
      [&](int64_t i) {
        return rotary.has_value() ? (*rotary)[static_cast<size_t>(i)] != 0
                                  : (i + 1) % interval != 0;
      },
      draft);
}

// Its norms of queries and keys have no parameters. Every `interleave_moe_layer_step`-th layer has
// experts, or those listed in moe_layers.
void ReadLlama4Options(ConfigReader& config, DecoderDraft& draft) {
  ReadAttentionBias(config, draft);
  const int64_t size = config.RequiredSize("intermediate_size", kMaxFeedForwardSize);
  ReadExperts(config, {.expert_count = "num_local_experts"}, size, draft);
  draft.experts->shared_expert_count = 1;
  draft.experts->shared_expert = draft.experts->expert;
  config.Flag("use_qk_norm", true);
  int64_t step = config.Size("interleave_moe_layer_step");
  if (step == 0) step = 1;
  const auto named = ReadLayerNumbers(config, "moe_layers", draft);
  SetExpertLayers(
      [&](int64_t i) {
        return named.has_value() ? (*named)[static_cast<size_t>(i)] : (i + 1) % step == 0;
      },
      draft);
  ReadLlama4Spans(config, draft);
}

void ReadDbrxOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadExperts(
      config,
      {.expert_count = "ffn_config.moe_num_experts", .experts_per_token = "ffn_config.moe_top_k"},
      draft.feed_forward_size, draft);
  if (draft.style.tied) {
    config.Refuse("tie_word_embeddings", "must be false: this family's code knows no tied head");
  }
}

void ReadGraniteMoeOptions(ConfigReader& config, DecoderDraft& draft) {
  ReadAttentionBias(config, draft);
  ReadExperts(config, {.expert_count = "num_local_experts"}, draft.feed_forward_size, draft);
}

// transformers spells the class differently.
constexpr absl::string_view kPhimoeAlso[] = {"PhimoeForCausalLM"};

constexpr Family kMixtureFamilies[] = {
    {.model_type = "mixtral",
     .architecture = "MixtralForCausalLM",
     .style = kMixtureLlamaStyle,
     .key_value_head_count_required = true,
     .read_options = ReadMixtralOptions},
    {.model_type = "qwen2_moe",
     .architecture = "Qwen2MoeForCausalLM",
     .style = kMixtureQwen2Style,
     .key_value_head_count_required = true,
     .read_options = ReadQwen2MoeOptions},
    {.model_type = "qwen3_moe",
     .architecture = "Qwen3MoeForCausalLM",
     .style = kMixtureQwen3Style,
     .key_value_head_count_required = true,
     .read_options = ReadQwen3MoeOptions},
    {.model_type = "qwen3_vl_moe_text",
     .architecture = "Qwen3VLMoeForConditionalGeneration",
     .style = kMixtureQwen3Style,
     .key_value_head_count_required = true,
     .read_options = ReadQwen3MoeOptions},
    {.model_type = "granitemoe",
     .architecture = "GraniteMoeForCausalLM",
     .style = kMixtureLlamaStyle,
     .read_options = ReadGraniteMoeOptions},
    {.model_type = "olmoe",
     .architecture = "OlmoeForCausalLM",
     .style = kOlmoeStyle,
     .read_options = ReadOlmoeOptions},
    {.model_type = "phimoe",
     .architecture = "PhiMoEForCausalLM",
     .also_architectures = kPhimoeAlso,
     .style = kPhimoeStyle,
     .key_value_head_count_required = true,
     .read_options = ReadPhimoeOptions},
    {.model_type = "gpt_oss",
     .architecture = "GptOssForCausalLM",
     .style = kMixtureLlamaStyle,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .read_options = ReadGptOssOptions},
    {.model_type = "llama4_text",
     .architecture = "Llama4ForCausalLM",
     .names = kLlama4Names,
     .style = kMixtureLlamaStyle,
     .key_value_head_count_required = true,
     .head_size_required = true,
     .read_options = ReadLlama4Options},
    {.model_type = "dbrx",
     .architecture = "DbrxForCausalLM",
     .names = kDbrxNames,
     .style = kDbrxStyle,
     .key_value_head_count_required = true,
     .read_options = ReadDbrxOptions},
};

}  // namespace

absl::Span<const Family> MixtureFamilies() { return kMixtureFamilies; }

}  // namespace sextant
