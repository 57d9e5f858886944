#include "tests/validation/step_model.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "engine/base/status_macros.h"
#include "engine/model/presets/presets.h"
#include "tests/validation/cells.h"
#include "tests/validation/step_recipe.h"

namespace sextant {
namespace {

using nlohmann::json;

// BLOOM's trials with 14,400 features don't print their heads. 80 of 180 features are what the
// project's arguments of that size have.
constexpr int64_t kLikelyHeads = 80;

// "DeepSeekV3 [w/o MTP]" and "llama3-405b (4 layers)": "deepseekv3", "llama3-405b".
std::string NameOf(const CsvRow& row) {
  std::string name = absl::AsciiStrToLower(Cell(row, "model"));
  name = name.substr(0, name.find_first_of("[("));
  absl::StripTrailingAsciiWhitespace(&name);
  return absl::StrReplaceAll(
      name, {{"_", "-"}, {" ", "-"}, {"llama3.1", "llama3"}, {"deepseekv3", "deepseek-v3"}});
}

// Public mixtures by the name that the table uses, as presets.
std::string PresetOf(const std::string& name) {
  constexpr std::pair<absl::string_view, absl::string_view> kPresets[] = {
      {"gpt-oss-120b", "gpt-oss-120b"},        {"qwen3-30b-a3b", "qwen3-30b-a3b"},
      {"qwen3-235b-a22b", "qwen3-235b-a22b"},  {"kimi-k2", "kimi-k2"},
      {"llama4-maverick", "llama-4-maverick"}, {"llama4-scout", "llama-4-scout"},
  };
  for (const auto& [ours, preset] : kPresets) {
    if (name == ours) return std::string(preset);
  }
  return "";
}

bool PredictsTwoTokens(const CsvRow& row) {
  return absl::StrContains(Cell(row, "model"), "w/ MTP") || StepRecipeOf(row).predicts_two_tokens;
}

// DeepSeek's mixtures with the row's number of layers, by the configs of their presets.
json DeepseekConfig(const CsvRow& row, bool third) {
  const int64_t layers = WholeCell(row, "layers").value_or(0);
  const bool cut = layers < 60;  // SimuMax: one dense layer, the others of experts
  return {{"model_type", third ? "deepseek_v3" : "deepseek_v2"},
          {"num_hidden_layers", layers},
          {"hidden_size", WholeCell(row, "hidden").value_or(0)},
          {"intermediate_size", WholeCell(row, "ffn_hidden").value_or(0)},
          {"num_attention_heads", WholeCell(row, "heads").value_or(0)},
          {"num_key_value_heads", WholeCell(row, "heads").value_or(0)},
          {"n_routed_experts", WholeCell(row, "experts").value_or(0)},
          {"n_shared_experts", third ? 1 : 2},
          {"num_experts_per_tok", WholeCell(row, "topk").value_or(0)},
          {"moe_intermediate_size", WholeCell(row, "moe_ffn_hidden").value_or(0)},
          {"first_k_dense_replace", third && !cut ? 3 : 1},
          {"vocab_size", WholeCell(row, "vocab").value_or(0)},
          {"q_lora_rank", 1536},
          {"kv_lora_rank", 512},
          {"qk_nope_head_dim", 128},
          {"qk_rope_head_dim", 64},
          {"v_head_dim", 128},
          {"n_group", 8},
          {"topk_group", third ? 4 : 3},
          {"topk_method", third ? "noaux_tc" : "group_limited_greedy"},
          {"num_nextn_predict_layers", third && PredictsTwoTokens(row) ? 1 : 0}};
}

// Grok-1's proxies: Mixtral's shape of layer.
json GrokConfig(const CsvRow& row) {
  return {{"model_type", "mixtral"},
          {"num_hidden_layers", WholeCell(row, "layers").value_or(0)},
          {"hidden_size", WholeCell(row, "hidden").value_or(0)},
          {"intermediate_size", WholeCell(row, "moe_ffn_hidden").value_or(0)},
          {"num_attention_heads", WholeCell(row, "heads").value_or(0)},
          {"num_key_value_heads", WholeCell(row, "kv_heads").value_or(0)},
          {"head_dim", WholeCell(row, "head_dim").value_or(0)},
          {"num_local_experts", WholeCell(row, "experts").value_or(0)},
          {"num_experts_per_tok", WholeCell(row, "topk").value_or(0)},
          {"sliding_window", nullptr},
          {"vocab_size", WholeCell(row, "vocab").value_or(0)}};
}

absl::StatusOr<StepModel> ExpertsModel(const CsvRow& row, StepModel out) {
  out.experts = true;
  const std::string preset = PresetOf(out.name);
  if (!preset.empty()) {
    SEXTANT_ASSIGN_OR_RETURN(const ModelPreset* const found, FindModelPreset(preset));
    out.spec.set_preset(preset);
    for (const LayerRun& run : found->architecture.decoder.layers) out.layer_count += run.count;
    return out;
  }
  json config;
  if (absl::StrContains(out.name, "deepseek")) {
    const bool second = absl::StrContains(out.name, "v2");
    config = DeepseekConfig(row, !second);
    if (second) config.erase("num_nextn_predict_layers");
  } else if (absl::StartsWith(out.name, "grok1")) {
    config = GrokConfig(row);
  } else {
    return absl::InvalidArgumentError("shape of the layers not published");
  }
  out.spec.set_hugging_face_config(config.dump());
  out.layer_count = WholeCell(row, "layers").value_or(0);
  return out;
}

// The multiple of the stages that is nearest to the published size over 12 h^2, where the number of
// layers isn't published.
int64_t LayersOf(const CsvRow& row) {
  const auto given = WholeCell(row, "layers");
  if (given.has_value()) return *given;
  const std::string size = Cell(row, "params_note");
  const double hidden = static_cast<double>(WholeCell(row, "hidden").value_or(0));
  const int64_t stages = WholeCell(row, "pp").value_or(0);
  double billions = 0;
  if (!absl::SimpleAtod(size.substr(0, size.find('B')), &billions) || hidden < 1 || stages < 1) {
    return 0;
  }
  const double layers = billions * 1e9 / (12 * hidden * hidden);
  return stages * std::llround(layers / static_cast<double>(stages));
}

// What a family of models has in all its sizes. Llama, InternLM: rotary positions, RMSNorm, no
// biases, a head of its own. Nemotron-4: the same with LayerNorm and a plain feed-forward. MPT:
// learned positions and a tied head, no biases. GPT-3 and BLOOM: that with biases.
void SetFamily(const CsvRow& row, StepModel& model, v1::TransformerSpec& out) {
  const std::string& name = model.name;
  const bool gated = Cell(row, "glu") == "True";
  const bool nemotron = absl::StartsWith(name, "nemotron");
  const bool mpt = absl::StartsWith(name, "mpt-") && !absl::StartsWith(name, "mpt-nlg");
  out.set_feed_forward_kind(gated ? v1::TransformerSpec::FEED_FORWARD_KIND_GATED
                                  : v1::TransformerSpec::FEED_FORWARD_KIND_PLAIN);
  out.set_norm_kind(gated ? v1::TransformerSpec::NORM_KIND_RMS_NORM
                          : v1::TransformerSpec::NORM_KIND_LAYER_NORM);
  if (gated || nemotron) return;
  out.set_tied_embeddings(true);
  out.set_learned_position_count(WholeCell(row, "seq_len").value_or(0));
  if (mpt) return;
  out.set_query_key_value_bias(true);
  out.set_attention_output_bias(true);
  out.set_feed_forward_bias(true);
  const std::string framework = Cell(row, "framework");
  model.dropout = absl::StartsWith(name, "gpt3") && absl::StartsWith(framework, "NeMo");
}

absl::StatusOr<StepModel> DenseModel(const CsvRow& row, StepModel out) {
  v1::TransformerSpec& spec = *out.spec.mutable_transformer();
  SEXTANT_ASSIGN_OR_RETURN(const int64_t hidden, RequiredCell(row, "hidden", "shape"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t features, RequiredCell(row, "ffn_hidden", "shape"));
  SEXTANT_ASSIGN_OR_RETURN(const int64_t vocabulary, RequiredCell(row, "vocab", "vocabulary"));
  out.layer_count = LayersOf(row);
  if (out.layer_count < 1) return absl::InvalidArgumentError("number of layers not published");
  const auto heads = WholeCell(row, "heads");
  if (!heads.has_value() && hidden != 14400)
    return absl::InvalidArgumentError("heads not published");
  out.heads_open = !heads.has_value();
  spec.set_layer_count(out.layer_count);
  spec.set_hidden_size(hidden);
  spec.set_feed_forward_size(features);
  spec.set_attention_head_count(heads.value_or(kLikelyHeads));
  const auto groups = WholeCell(row, "kv_heads");
  if (groups.has_value()) spec.set_key_value_head_count(*groups);
  const auto size = WholeCell(row, "head_dim");
  if (size.has_value()) spec.set_head_size(*size);
  spec.set_vocabulary_size(vocabulary);
  SetFamily(row, out, spec);
  return out;
}

}  // namespace

absl::StatusOr<StepModel> StepModelOf(const CsvRow& row) {
  StepModel out;
  out.name = NameOf(row);
  const bool experts = WholeCell(row, "experts").has_value() || !PresetOf(out.name).empty();
  if (experts) return ExpertsModel(row, std::move(out));
  return DenseModel(row, std::move(out));
}

}  // namespace sextant
