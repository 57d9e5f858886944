// Parts and adapters of public models, exact to the integer. Their totals are compared in
// tests/golden.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/model/architecture/count_weights.h"
#include "engine/model/presets/presets.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

ArchitectureSpec Preset(absl::string_view name) {
  const auto preset = FindModelPreset(name);
  EXPECT_THAT(preset, IsOk());
  return preset.ok() ? (*preset)->architecture : ArchitectureSpec();
}

ArchitectureCount CountPublished(const ArchitectureSpec& spec) {
  const auto count = CountArchitecture(spec, "");
  EXPECT_THAT(count, IsOk());
  return count.value_or(ArchitectureCount());
}

// The published checkpoint (684,489,845,504 parameters, id 69468411049 of the search index) holds
// the main model (671,026,419,200, id 70123698298), a module of multi-token prediction, and that
// module's copies of the embedding and of the output head.
TEST(PublishedArchitectures, DeepSeekV3HasAModuleThatPredictsAhead) {
  const ArchitectureCount count = CountPublished(Preset("deepseek-v3"));
  const int64_t embedding = count.of(WeightComponent::kTokenEmbedding).total;
  const int64_t head = count.of(WeightComponent::kOutputHead).total;
  EXPECT_EQ(count.all.total + embedding + head, 684'489'845'504);
  EXPECT_EQ(count.all.total - count.of(ModelPart::kMultiTokenPrediction).total, 671'026'419'200);
}

// Rank 32 on queries and values of all attentions: 1,376,256 parameters are trained (id
// 15041666123).
TEST(PublishedArchitectures, AdaptersOfFlanT5SmallAreExact) {
  ArchitectureSpec spec = Preset("flan-t5-small");
  spec.base_frozen = true;
  spec.adapters = AdapterSpec{.rank = 32,
                              .targets = {{"attention", "query"},
                                          {"attention", "value"},
                                          {"cross_attention", "query"},
                                          {"cross_attention", "value"}}};
  const ArchitectureCount count = CountPublished(spec);
  EXPECT_EQ(count.all.trainable, 1'376'256);
  EXPECT_EQ(count.all.total, 76'961'152 + 1'376'256);
}

}  // namespace
}  // namespace sextant
