#include "server/hugging_face/families.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_join.h"

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

std::string SupportedModelTypes() {
  std::vector<absl::string_view> names;
  FindWhere([&](const Family& family) {
    names.push_back(family.model_type);
    return false;
  });
  std::sort(names.begin(), names.end());
  return absl::StrJoin(names, ", ");
}

}  // namespace sextant
