#include "server/hugging_face/families.h"

namespace sextant {
namespace {

template <typename Matches>
const Family* FindWhere(Matches matches) {
  for (const absl::Span<const Family> families :
       {GptFamilies(), LlamaFamilies(), MixedFamilies()}) {
    for (const Family& family : families) {
      if (matches(family)) return &family;
    }
  }
  return nullptr;
}

}  // namespace

void ReadAttentionBias(ConfigReader& config, TransformerSpec& shape) {
  shape.query_key_value_bias = shape.attention_output_bias = config.Flag("attention_bias", false);
}

void ReadBothBiases(ConfigReader& config, TransformerSpec& shape) {
  ReadAttentionBias(config, shape);
  shape.feed_forward_bias = config.Flag("mlp_bias", false);
}

const Family* FindFamily(absl::string_view model_type) {
  return FindWhere([&](const Family& family) { return family.model_type == model_type; });
}

const Family* FindFamilyOfArchitecture(absl::string_view architecture) {
  return FindWhere([&](const Family& family) { return family.architecture == architecture; });
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
