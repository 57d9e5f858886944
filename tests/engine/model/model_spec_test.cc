#include "engine/model/model_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/count_weights.h"
#include "engine/model/transformer_spec.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

using T = TransformerSpec;

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

absl::Status RefusalOf(const ModelChanges& changes) {
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
  EXPECT_THAT(RefusalOf({.frozen_components = {Component::kNorm, Component::kRouter}}),
              NamesFields(ElementsAre("model.changes.frozen_components[1]")));
  ArchitectureSpec tied = SmallDecoder();
  tied.output.head = OutputHeadKind::kTied;
  FieldViolations violations;
  ApplyChanges({.frozen_components = {Component::kOutputHead}}, "c", tied, violations);
  ASSERT_THAT(violations.ToStatus(), NamesFields(ElementsAre("c.frozen_components[0]")));
  EXPECT_THAT(violations.all()[0].description, HasSubstr("is tied: write token_embedding"));
  EXPECT_THAT(RefusalOf({.frozen_components = {Component::kTokenEmbedding, Component::kOutputHead,
                                               Component::kNorm},
                         .frozen_layer_count = 2}),
              NamesFields(ElementsAre("model.changes")));
}

// All of them at once.
TEST(ModelChanges, ThatAreAllWrongAreAllNamed) {
  EXPECT_THAT(
      RefusalOf({.adapters = AdapterSpec{.rank = 0, .targets = {{"attention", "query"}}},
                 .frozen_layer_count = 99}),
      NamesFields(ElementsAre("model.changes.frozen_layer_count", "model.changes.adapters.rank")));
}

TEST(ModelChanges, OfAWrongMatrixNameTheRightOnes) {
  const absl::Status status =
      RefusalOf({.adapters = AdapterSpec{.rank = 1, .targets = {{"attention", "kwery"}}}});
  EXPECT_THAT(
      std::string(status.message()),
      HasSubstr("attention.kwery is not a matrix of the model: write one of attention.query, "
                "attention.key, attention.value, attention.output"));
}

TEST(ModelChanges, ThatMakeNoSenseAreNamed) {
  const std::pair<const char*, ModelChanges> cases[] = {
      {"frozen_layer_count", {.frozen_layer_count = 3}},
      {"frozen_layer_count", {.frozen_layer_count = -1}},
      {"base_frozen", {.base_frozen = true}},
      {"adapters.targets[0]",
       {.adapters = AdapterSpec{.rank = 1, .targets = {{"attention", "kwery"}}}}},
      {"frozen_components[0]", {.frozen_components = {WeightComponent::kAdapter}}},
  };
  for (const auto& [field, changes] : cases) {
    EXPECT_THAT(RefusalOf(changes),
                NamesFields(ElementsAre(absl::StrCat("model.changes.", field))));
  }
}

// h = 8, 2 layers, 4 heads, f = 32, V = 100.
TransformerSpec SmallTransformer() {
  return {.layer_count = 2,
          .hidden_size = 8,
          .feed_forward_size = 32,
          .attention_head_count = 4,
          .vocabulary_size = 100,
          .feed_forward_kind = FeedForwardKind::kGated,
          .norm_kind = NormKind::kRmsNorm};
}

absl::Status CheckSpec(const TransformerSpec& spec) {
  FieldViolations violations;
  CheckTransformer(spec, "m", violations);
  return violations.ToStatus();
}

TEST(CheckTransformer, AcceptsASmallModel) { EXPECT_THAT(CheckSpec(SmallTransformer()), IsOk()); }

TEST(CheckTransformer, NamesTheKindsThatAnEmptyOneLacks) {
  EXPECT_THAT(CheckSpec(TransformerSpec()),
              NamesFields(UnorderedElementsAre("m.feed_forward_kind", "m.norm_kind")));
}

TEST(CheckTransformer, HeadsAreNoWiderThanAnArchitectures) {
  TransformerSpec spec = SmallTransformer();
  spec.key_value_head_count = 1;
  spec.hidden_size = 2'000'000;
  spec.attention_head_count = 2;
  EXPECT_THAT(CheckSpec(spec), IsOk());
  EXPECT_THAT(CountArchitecture(DenseDecoder(spec), "m"), IsOk());
  spec.attention_head_count = 1;  // heads of 2,000,000 features, which no architecture has
  EXPECT_THAT(CheckSpec(spec), NamesFields(ElementsAre("m.attention_head_count")));
}

TEST(CheckTransformer, HeadsHaveToDivide) {
  TransformerSpec spec = SmallTransformer();
  spec.attention_head_count = 3;  // 8 / 3
  EXPECT_THAT(CheckSpec(spec), NamesFields(ElementsAre("m.attention_head_count")));
  spec.head_size = 5;  // given: nothing has to divide
  EXPECT_THAT(CheckSpec(spec), IsOk());
  spec.key_value_head_count = 2;  // 3 / 2
  EXPECT_THAT(CheckSpec(spec), NamesFields(ElementsAre("m.key_value_head_count")));
  spec.key_value_head_count = 6;  // more than there are
  EXPECT_THAT(CheckSpec(spec), NamesFields(ElementsAre("m.key_value_head_count")));
}

TEST(WithDefaults, FillsInWhatZeroStandsFor) {
  const TransformerSpec spec = WithDefaults(SmallTransformer());
  EXPECT_EQ(spec.key_value_head_count, 4);
  EXPECT_EQ(spec.head_size, 2);
  EXPECT_EQ(spec.embedding_size, 8);
}

// The same with 2 key heads, of size 2: 3560 parameters, worked by hand.
TransformerSpec SmallModel() {
  TransformerSpec spec = SmallTransformer();
  spec.key_value_head_count = 2;
  return spec;
}

ArchitectureCount Count(const TransformerSpec& spec) {
  FieldViolations violations;
  CheckTransformer(spec, "m", violations);
  EXPECT_THAT(violations.ToStatus(), IsOk());
  const auto count = CountArchitecture(DenseDecoder(spec), "m");
  EXPECT_THAT(count, IsOk());
  return count.value_or(ArchitectureCount());
}

TEST(DenseDecoder, OfAGatedGroupedQueryModelByHand) {
  const ArchitectureCount count = Count(SmallModel());
  EXPECT_EQ(count.of(WeightComponent::kAttentionQueryKeyValue).total, 2 * (8 * 8 + 2 * 4 * 8));
  EXPECT_EQ(count.of(WeightComponent::kDenseFeedForward).total, 2 * 3 * 8 * 32);
  EXPECT_EQ(count.of(WeightComponent::kNorm).total, (2 * 2 + 1) * 8);
  // 800 + 256 + 128 + 1536 + 40 + 800
  EXPECT_EQ(count.all, (WeightCount{3560, 3560, 3560}));
  EXPECT_EQ(count.embedding, 1600);
}

struct OptionChange {
  const char* name;
  void (*apply)(T&);
  int64_t difference;  // from 3560, worked by hand
};

TEST(DenseDecoder, EachOptionAddsWhatItSays) {
  const OptionChange changes[] = {
      {"tied head", [](T& s) { s.tied_embeddings = true; }, -800},
      {"ungated", [](T& s) { s.feed_forward_kind = FeedForwardKind::kPlain; }, -2 * 8 * 32},
      {"layer norm has a bias too", [](T& s) { s.norm_kind = NormKind::kLayerNorm; }, 5 * 8},
      {"norms without parameters", [](T& s) { s.norm_kind = NormKind::kNonParametric; }, -5 * 8},
      {"one norm a layer", [](T& s) { s.norms_per_layer = 1; }, -2 * 8},
      {"four norms a layer", [](T& s) { s.norms_per_layer = 4; }, 4 * 8},
      {"no final norm", [](T& s) { s.final_norm = false; }, -8},
      {"query key norm a head", [](T& s) { s.query_key_norm = QueryKeyNorm::kPerHead; }, 2 * 2 * 2},
      {"query key norm over heads", [](T& s) { s.query_key_norm = QueryKeyNorm::kAllHeads; },
       2 * (8 + 4)},
      {"qkv bias", [](T& s) { s.query_key_value_bias = true; }, 2 * (8 + 2 * 4)},
      {"output bias", [](T& s) { s.attention_output_bias = true; }, 2 * 8},
      {"gated feed-forward bias", [](T& s) { s.feed_forward_bias = true; }, 2 * (2 * 32 + 8)},
      {"head bias", [](T& s) { s.output_head_bias = true; }, 100},
      {"learned positions", [](T& s) { s.learned_position_count = 50; }, 50 * 8},
      {"larger heads", [](T& s) { s.head_size = 4; }, 2 * (8 * 8 + 2 * 4 * 8 + 8 * 8)},
      {"all heads have keys", [](T& s) { s.key_value_head_count = 0; }, 2 * 2 * 4 * 8},
      // Both tables shrink to 100 x 4; two projections of 4 x 8 join them to the rest.
      {"narrow embedding", [](T& s) { s.embedding_size = 4; }, -2 * 400 + 2 * 32},
  };
  for (const OptionChange& change : changes) {
    TransformerSpec spec = SmallModel();
    change.apply(spec);
    EXPECT_EQ(Count(spec).all.total, 3560 + change.difference) << change.name;
  }
}

// Each size is within its range; their product is not.
TEST(DenseDecoder, OfMoreThanCanBeHeldIsRefused) {
  TransformerSpec spec = SmallModel();
  spec.layer_count = 1'000'000;
  spec.hidden_size = 10'000'000;
  spec.feed_forward_size = 100'000'000;
  spec.attention_head_count = 1'000'000;
  spec.key_value_head_count = 0;
  FieldViolations violations;
  CheckTransformer(spec, "m", violations);
  ASSERT_TRUE(violations.empty());
  EXPECT_THAT(CountArchitecture(DenseDecoder(spec), "m"), NamesFields(ElementsAre("m")));
}

}  // namespace
}  // namespace sextant
