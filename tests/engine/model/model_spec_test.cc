#include "engine/model/model_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/model/architecture/count_weights.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Component = WeightComponent;

// Counts of SmallDecoder(): h = 8, 2 layers of 976, V = 100, untied; 3560 parameters.
ArchitectureCount Changed(const ModelChanges& changes) {
  ArchitectureSpec spec = SmallDecoder();
  FieldViolations violations;
  ApplyChanges(changes, "model.changes", spec, violations);
  EXPECT_THAT(violations.ToStatus(), IsOk());
  const auto count = CountArchitecture(spec, "m");
  EXPECT_THAT(count, IsOk());
  return count.value_or(ArchitectureCount());
}

absl::Status Refused(const ModelChanges& changes) {
  ArchitectureSpec spec = SmallDecoder();
  FieldViolations violations;
  ApplyChanges(changes, "model.changes", spec, violations);
  return violations.ToStatus();
}

TEST(ModelChanges, OfNoneLeaveTheModel) {
  EXPECT_TRUE(IsNone({}));
  EXPECT_FALSE(IsNone({.frozen_layer_count = 1}));
  EXPECT_FALSE(IsNone({.vocabulary_multiple = 1}));
  EXPECT_EQ(Changed({}).all, (WeightCount{3560, 3560, 3560}));
}

// 100 tokens are 128: 28 rows of 8 more in table and head.
TEST(ModelChanges, PadTheVocabulary) {
  const ArchitectureCount count = Changed({.vocabulary_multiple = 128});
  EXPECT_EQ(count.all.total, 3560 + 2 * 28 * 8);
  EXPECT_EQ(count.padding, 2 * 28 * 8);
}

// Rank 2 on an 8 x 8 matrix in 2 layers: 2 (8 + 8) each.
TEST(ModelChanges, AddAdaptersAndFreezeTheRest) {
  const ArchitectureCount count =
      Changed({.adapters = AdapterSpec{.rank = 2, .targets = {{"attention", "query"}}},
               .base_frozen = true});
  EXPECT_EQ(count.all, (WeightCount{3560 + 64, 3560 + 64, 64}));
}

TEST(ModelChanges, FreezeTheFirstLayers) {
  EXPECT_EQ(Changed({.frozen_layer_count = 1}).all.trainable, 3560 - 976);
  EXPECT_EQ(Changed({.frozen_layer_count = 2}).all.trainable, 3560 - 2 * 976);
  EXPECT_EQ(Changed({.frozen_components = {WeightComponent::kTokenEmbedding}}).all.trainable,
            3560 - 800);
}

// An encoder's layers come first, and a run is cut where the frozen ones end.
TEST(ModelChanges, FreezeAnEncoderBeforeADecoder) {
  ArchitectureSpec spec = SmallEncoderDecoder();
  spec.decoder.layers.front().count = 3;
  FieldViolations violations;
  ApplyChanges({.frozen_layer_count = 2}, "c", spec, violations);
  EXPECT_THAT(violations.ToStatus(), IsOk());
  EXPECT_TRUE(spec.encoder.layers.front().frozen);
  EXPECT_EQ(spec.encoder.layers.size(), 1u);
  EXPECT_TRUE(spec.decoder.layers[0].frozen);
  EXPECT_EQ(spec.decoder.layers[0].count, 1);
  EXPECT_FALSE(spec.decoder.layers[1].frozen);
  EXPECT_EQ(spec.decoder.layers[1].count, 2);
}

TEST(ModelChanges, ThatFreezeWhatIsNotThereOrAllThereIsAreNamed) {
  EXPECT_THAT(Refused({.frozen_components = {Component::kNorm, Component::kRouter}}),
              NamesFields(ElementsAre("model.changes.frozen_components[1]")));
  ArchitectureSpec tied = SmallDecoder();
  tied.output.head = OutputHeadKind::kTied;
  FieldViolations violations;
  ApplyChanges({.frozen_components = {Component::kOutputHead}}, "c", tied, violations);
  ASSERT_THAT(violations.ToStatus(), NamesFields(ElementsAre("c.frozen_components[0]")));
  EXPECT_THAT(violations.all()[0].description, HasSubstr("is tied: write token_embedding"));
  EXPECT_THAT(Refused({.frozen_components = {Component::kTokenEmbedding, Component::kOutputHead,
                                             Component::kNorm},
                       .frozen_layer_count = 2}),
              NamesFields(ElementsAre("model.changes")));
}

// All of them at once.
TEST(ModelChanges, ThatAreAllWrongAreAllNamed) {
  EXPECT_THAT(
      Refused({.vocabulary_multiple = -1,
               .adapters = AdapterSpec{.rank = 0, .targets = {{"attention", "query"}}},
               .frozen_layer_count = 99}),
      NamesFields(ElementsAre("model.changes.vocabulary_multiple",
                              "model.changes.frozen_layer_count", "model.changes.adapters.rank")));
}

TEST(ModelChanges, OfAWrongMatrixNameTheRightOnes) {
  const absl::Status status =
      Refused({.adapters = AdapterSpec{.rank = 1, .targets = {{"attention", "kwery"}}}});
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("attention.kwery is not a matrix of the model: write one of attention.query, "
                "attention.key, attention.value, attention.output"));
}

TEST(ModelChanges, ThatMakeNoSenseAreNamed) {
  EXPECT_THAT(Refused({.vocabulary_multiple = 0}),
              NamesFields(ElementsAre("model.changes.vocabulary_multiple")));
  EXPECT_THAT(Refused({.vocabulary_multiple = 1'000'000'001}),
              NamesFields(ElementsAre("model.changes.vocabulary_multiple")));
  EXPECT_THAT(Refused({.frozen_layer_count = 3}),
              NamesFields(ElementsAre("model.changes.frozen_layer_count")));
  EXPECT_THAT(Refused({.frozen_layer_count = -1}),
              NamesFields(ElementsAre("model.changes.frozen_layer_count")));
  EXPECT_THAT(Refused({.base_frozen = true}),
              NamesFields(ElementsAre("model.changes.base_frozen")));
  EXPECT_THAT(Refused({.adapters = AdapterSpec{.rank = 1, .targets = {{"attention", "kwery"}}}}),
              NamesFields(ElementsAre("model.changes.adapters.targets[0]")));
  EXPECT_THAT(Refused({.frozen_components = {WeightComponent::kAdapter}}),
              NamesFields(ElementsAre("model.changes.frozen_components[0]")));
}

}  // namespace
}  // namespace sextant
