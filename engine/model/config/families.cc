#include "engine/model/config/families.h"

#include <algorithm>

namespace sextant {
namespace {

template <typename Matches>
const Family* FindWhere(Matches matches) {
  for (const absl::Span<const Family> families :
       {GptFamilies(), AlibiFamilies(), LlamaFamilies(), MixedFamilies(), MixtureFamilies(),
        LatentFamilies(), EncoderFamilies()}) {
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
