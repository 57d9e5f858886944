#include "engine/model/config/families.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/config/layer_patterns.h"

namespace sextant {
namespace {

template <typename Matches>
const Family* FindWhere(Matches matches) {
  for (const absl::Span<const Family> families :
       {GptFamilies(), AlibiFamilies(), LlamaFamilies(), MixedFamilies(), MixtureFamilies(),
        GroupedFamilies(), LatentFamilies(), EncoderFamilies()}) {
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

void ReadNamedExperts(const ExpertFields& names, ConfigReader& config, DecoderDraft& draft) {
  const int64_t size = ReadUniformSize(names.expert_size, kMaxFeedForwardSize, config);
  ReadExperts(config, {names.expert_count, names.experts_per_token}, size, draft);
  ExpertsSpec& experts = *draft.experts;
  experts.router_correction_bias = names.correction_bias.if_absent;
  ReadFlag(names.correction_bias, config, experts.router_correction_bias);
  ReadExpertGroups(config, experts);
  if (!names.shared_count.empty()) {
    experts.shared_expert_count = ReadUniformCount(names.shared_count, kMaxExpertCount, config);
  }
  if (experts.shared_expert_count > 0) {
    experts.shared_expert = experts.expert;
    const int64_t own = names.shared_size.empty() ? 0 : config.Size(names.shared_size);
    if (own > 0) experts.shared_expert.size = own;
  }
  config.Find("topk_method");
  if (names.first_dense.empty()) return;
  if (config.Count("moe_layer_freq", 1) != 1) {
    config.Refuse("moe_layer_freq", "must be 1: layers without experts are the first ones");
  }
  const int64_t first = config.Count(names.first_dense, names.first_dense_if_absent);
  SetExpertLayers([first](int64_t i) { return i >= first; }, draft);
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

}  // namespace sextant
