// A dense decoder counts the same as a list of tensors and as an architecture.
#include "engine/model/architecture/dense_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/model/architecture/count_weights.h"
#include "engine/model/parameter_count.h"
#include "engine/model/presets.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;

void ExpectTheSame(const TransformerSpec& transformer) {
  const auto spec = DenseDecoder(transformer, "m");
  ASSERT_THAT(spec, IsOk());
  const auto count = CountArchitecture(*spec, "m");
  ASSERT_THAT(count, IsOk());
  const auto old = CountParameters(ParameterTensorsOf(transformer), "m");
  ASSERT_THAT(old, IsOk());
  EXPECT_EQ(count->all, (WeightCount{old->total, old->total, old->total}));
  EXPECT_EQ(count->embedding, old->embedding);
  using Old = ParameterComponent;
  using New = WeightComponent;
  const struct {
    Old old;
    New now;
  } components[] = {
      {Old::kTokenEmbedding, New::kTokenEmbedding},
      {Old::kPositionEmbedding, New::kPositionEmbedding},
      {Old::kEmbeddingProjection, New::kEmbeddingProjection},
      {Old::kAttentionQueryKeyValue, New::kAttentionQueryKeyValue},
      {Old::kAttentionOutput, New::kAttentionOutput},
      {Old::kFeedForward, New::kDenseFeedForward},
      {Old::kBias, New::kBias},
      {Old::kNorm, New::kNorm},
      {Old::kOutputHead, New::kOutputHead},
  };
  for (const auto& component : components) {
    EXPECT_EQ(count->of(component.now).total, old->of(component.old))
        << ParameterComponentName(component.old);
  }
}

TEST(DenseDecoder, CountsEveryPresetTheSameByComponent) {
  ASSERT_FALSE(ModelPresets().empty());
  for (const ModelPreset& preset : ModelPresets()) {
    SCOPED_TRACE(preset.name);
    ExpectTheSame(preset.transformer);
  }
}

TEST(DenseDecoder, TakesUpToFourNormsALayer) {
  TransformerSpec transformer = ModelPresets().front().transformer;
  for (int64_t norms = 0; norms <= 4; ++norms) {
    SCOPED_TRACE(norms);
    transformer.norms_per_layer = norms;
    ExpectTheSame(transformer);
  }
  transformer.norms_per_layer = 5;
  EXPECT_THAT(DenseDecoder(transformer, "m"), NamesFields(ElementsAre("m.norms_per_layer")));
}

}  // namespace
}  // namespace sextant
