#include "engine/model/config/families.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "engine/base/text.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/config/layer_patterns.h"

namespace sextant {
namespace {

template <typename Matches>
const Family* FindWhere(Matches matches) {
  for (const absl::Span<const Family> families :
       {GptFamilies(), AlibiFamilies(), LlamaFamilies(), MixedFamilies(), MixtureFamilies(),
        GroupedFamilies(), WindowedFamilies(), LatentFamilies(), DeltaFamilies(), MambaFamilies(),
        BlockFamilies(), EncoderFamilies()}) {
    for (const Family& family : families) {
      if (matches(family)) return &family;
    }
  }
  return nullptr;
}

}  // namespace

void ReadAttentionBias(ConfigReader& config, DecoderDraft& draft) {
  const bool bias = config.Flag("attention_bias", false);
  draft.style.query_key_value_bias = draft.style.attention_output_bias = bias;
}

void ReadBothBiases(ConfigReader& config, DecoderDraft& draft) {
  ReadAttentionBias(config, draft);
  draft.style.feed_forward_bias = config.Flag("mlp_bias", false);
}

namespace {

void ReadFlag(const FlagName& flag, ConfigReader& config, bool& out) {
  if (!flag.name.empty()) out = config.Flag(flag.name, flag.if_absent);
}

// The first layers have no experts, or those that mlp_layer_types says.
void ReadFirstDense(const ExpertFields& names, ConfigReader& config, DecoderDraft& draft) {
  if (config.Count("moe_layer_freq", 1) != 1) {
    config.Refuse("moe_layer_freq", "must be 1: layers without experts are the first ones");
  }
  const int64_t first = config.Count(names.first_dense, 0);
  if (ReadFeedForwardTypes(config, draft)) return;
  if (!names.none_if_absent) RequireGiven(names.first_dense, config);
  if (first > draft.layer_count && draft.layer_count > 0) {
    config.Refuse(names.first_dense,
                  absl::StrCat("must be 0 to ", draft.layer_count, ", not ", first));
  }
  SetExpertLayers([first](int64_t i) { return i >= first; }, draft);
}

void ReadNamedExperts(const ExpertFields& names, ConfigReader& config, DecoderDraft& draft) {
  const int64_t size =
      ReadUniformSize(names.expert_size, kMaxFeedForwardSize, draft.layer_count, config);
  ReadExperts(config, {names.expert_count, names.experts_per_token}, size, draft);
  ExpertsSpec& experts = *draft.experts;
  experts.router_correction_bias = names.correction_bias.if_absent;
  ReadFlag(names.correction_bias, config, experts.router_correction_bias);
  ReadExpertGroups(config, experts);
  if (!names.shared_count.empty()) {
    if (!names.none_if_absent) RequireGiven(names.shared_count, config);
    experts.shared_expert_count =
        ReadUniformCount(names.shared_count, kMaxExpertCount, draft.layer_count, config);
  }
  if (experts.shared_expert_count > 0) {
    experts.shared_expert = experts.expert;
    const int64_t own = names.shared_size.empty() ? 0 : config.Size(names.shared_size);
    if (own > 0) experts.shared_expert.size = own;
  }
  config.Find("topk_method");
  if (!names.first_dense.empty()) ReadFirstDense(names, config, draft);
}

}  // namespace

void ReadNamedOptions(const Family& family, ConfigReader& config, DecoderDraft& draft) {
  DecoderStyle& style = draft.style;
  ReadFlag(family.query_key_value_bias, config, style.query_key_value_bias);
  ReadFlag(family.attention_output_bias, config, style.attention_output_bias);
  ReadFlag(family.feed_forward_bias, config, style.feed_forward_bias);
  bool normed = true;
  ReadFlag(family.query_key_norm, config, normed);
  if (!normed) style.query_key_norm = QueryKeyNorm::kNone;
  if (!family.experts.expert_count.empty()) ReadNamedExperts(family.experts, config, draft);
  if (family.prediction_modules.empty()) return;
  draft.prediction_module_count = config.Count(family.prediction_modules, 0);
  if (draft.prediction_module_count > kMaxLayerCount) {
    config.Refuse(family.prediction_modules, absl::StrCat("must be at most ", kMaxLayerCount));
  }
}

void SetAllBiases(bool bias, DecoderDraft& draft) {
  draft.style.query_key_value_bias = draft.style.attention_output_bias = bias;
  draft.style.feed_forward_bias = bias;
}

bool HasArchitecture(const Family& family, absl::string_view architecture) {
  const auto& also = family.also_architectures;
  return family.architecture == architecture ||
         std::find(also.begin(), also.end(), architecture) != also.end();
}

const Family* FindFamily(absl::string_view model_type) {
  return FindWhere([&](const Family& family) { return family.model_type == model_type; });
}

const Family* FindFamilyOfArchitecture(absl::string_view architecture) {
  return FindWhere([&](const Family& family) { return HasArchitecture(family, architecture); });
}

std::vector<KnownName> KnownModelTypes() {
  std::vector<KnownName> out;
  FindWhere([&](const Family& family) {
    out.push_back({.name = family.model_type});
    return false;
  });
  return out;
}

namespace {

struct Unsupported {
  absl::string_view model_type;
  absl::string_view what;  // "holds ..." or "is ..."
};

constexpr char kDeltaNet[] = "holds gated delta nets (linear attention)";
constexpr char kMamba1[] = "holds state-space layers (Mamba-1)";
constexpr char kMamba2[] = "holds state-space layers (Mamba-2)";
constexpr char kTimeMixing[] = "holds recurrent layers (RWKV's time mixing)";
constexpr char kEncoder[] = "is an encoder of another kind than BERT's and T5's";
constexpr char kVision[] = "is a vision model";
constexpr char kMultimodal[] =
    "is a multimodal model without a text_config, which alone is counted of one";

// Parts of the models that users ask for most, beyond the layers that are known.
constexpr Unsupported kUnsupported[] = {
    {"olmo_hybrid", kDeltaNet},
    {"bailing_hybrid", "holds Kimi delta attention (linear attention)"},
    {"mamba", kMamba1},
    {"falcon_mamba", kMamba1},
    {"zamba2", kMamba2},
    {"recurrent_gemma", "holds recurrent layers (RG-LRU)"},
    {"rwkv", kTimeMixing},
    {"rwkv7", kTimeMixing},
    {"minimax_m3", "holds attention with an indexer over blocks"},
    {"deepseek_v4", "holds compressed attention with an indexer, and hyper-connections"},
    {"gemma3n_text", "holds copies of the residual stream, and embeddings of each layer"},
    {"roberta", kEncoder},
    {"modernbert", kEncoder},
    {"bart", kEncoder},
    {"whisper", kEncoder},
    {"vit", kVision},
    {"dinov2", kVision},
    {"siglip_vision_model", kVision},
    {"clip", kMultimodal},
    {"gemma3", kMultimodal},
    {"gemma3n", kMultimodal},
    {"gemma4", kMultimodal},
    {"llama4", kMultimodal},
    {"llava", kMultimodal},
    {"mistral3", kMultimodal},
    {"mllama", kMultimodal},
    {"paligemma", kMultimodal},
    {"qwen3_5", kMultimodal},
    {"qwen3_5_moe", kMultimodal},
    {"qwen3_vl", kMultimodal},
    {"qwen3_vl_moe", kMultimodal},
};

constexpr char kWhereListed[] = "docs/config_json.md";
constexpr size_t kMaxUnsupportedNameBytes = 24;

// "; model.architecture describes ...", the end of each text.
std::string OrArchitecture() {
  return absl::StrCat(
      "; model.architecture can describe a model of known layers; all that are "
      "read: ",
      kWhereListed);
}

// The family of that name but for case and separators; "" without one.
absl::string_view SameName(absl::string_view model_type) {
  for (const KnownName& known : KnownModelTypes()) {
    if (ComparableName(known.name) == ComparableName(model_type)) return known.name;
  }
  return "";
}

std::string NotKnown(absl::string_view kind, absl::string_view name) {
  return absl::StrCat(kind, " \"", absl::CHexEscape(Clip(name, kMaxUnsupportedNameBytes)),
                      "\" is not known");
}

}  // namespace

std::string ModelTypeMissing() {
  return absl::StrCat("is required: a family's name, such as llama; all: ", kWhereListed);
}

std::string WhyModelTypeUnsupported(absl::string_view model_type) {
  for (const Unsupported& entry : kUnsupported) {
    if (entry.model_type != model_type) continue;
    return absl::StrCat("\"", model_type, "\" ", entry.what,
                        ", not supported yet; all that are read: ", kWhereListed);
  }
  const absl::string_view same = SameName(model_type);
  return absl::StrCat(NotKnown("model_type", model_type),
                      same.empty() ? "" : absl::StrCat(": write ", same), OrArchitecture());
}

std::string WhyArchitectureUnsupported(absl::string_view architecture) {
  return absl::StrCat(NotKnown("architecture", architecture), OrArchitecture());
}

}  // namespace sextant
