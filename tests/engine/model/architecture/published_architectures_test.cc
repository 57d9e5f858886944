// Public models, exact to the integer.
#include "tests/engine/model/architecture/published_architectures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/model/architecture/count_weights.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

ArchitectureCount Count(const ArchitectureSpec& spec) {
  const auto count = CountArchitecture(spec, "");
  EXPECT_THAT(count, IsOk());
  return count.value_or(ArchitectureCount());
}

void ExpectExact(const std::vector<PublishedArchitecture>& models) {
  for (const PublishedArchitecture& model : models) {
    const ArchitectureCount count = Count(model.spec);
    EXPECT_EQ(count.all.total, model.total_parameters) << model.name;
    if (model.active_parameters > 0) {
      EXPECT_EQ(count.all.active, model.active_parameters) << model.name;
    }
  }
}

TEST(PublishedArchitectures, MixturesAreExact) { ExpectExact(PublishedMixtures()); }

TEST(PublishedArchitectures, DecodersAreExact) { ExpectExact(PublishedDecoders()); }

TEST(PublishedArchitectures, EncodersAreExact) { ExpectExact(PublishedEncoders()); }

// The published checkpoint (684,489,845,504 parameters, id 69468411049 of the search index) holds
// the main model, a module of multi-token prediction, and that module's copies of the embedding
// and of the output head.
TEST(PublishedArchitectures, DeepSeekV3HasAModuleThatPredictsAhead) {
  ArchitectureSpec spec = DeepSeekV3();
  spec.multi_token_prediction = MultiTokenPredictionSpec{.module_count = 1, .layer_kind = 0};
  const ArchitectureCount count = Count(spec);
  const int64_t embedding = count.of(WeightComponent::kTokenEmbedding).total;
  const int64_t head = count.of(WeightComponent::kOutputHead).total;
  EXPECT_EQ(count.all.total + embedding + head, 684'489'845'504);
  EXPECT_EQ(count.all.total - count.of(ModelPart::kMultiTokenPrediction).total, 671'026'419'200);
}

// Rank 32 beside queries and values of all attentions: 1,376,256 parameters are trained (id
// 15041666123).
TEST(PublishedArchitectures, AdaptersOfFlanT5SmallAreExact) {
  ArchitectureSpec spec = FlanT5Small();
  spec.base_frozen = true;
  spec.adapters = AdapterSpec{.rank = 32,
                              .targets = {{"attention", "query"},
                                          {"attention", "value"},
                                          {"cross_attention", "query"},
                                          {"cross_attention", "value"}}};
  const ArchitectureCount count = Count(spec);
  EXPECT_EQ(count.all.trainable, 1'376'256);
  EXPECT_EQ(count.all.total, 76'961'152 + 1'376'256);
}

}  // namespace
}  // namespace sextant
