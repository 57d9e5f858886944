#include "engine/model/transformer_spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "engine/model/architecture/count_weights.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

TransformerSpec Small() {
  return {.layer_count = 2,
          .hidden_size = 8,
          .feed_forward_size = 32,
          .attention_head_count = 4,
          .vocabulary_size = 100,
          .feed_forward_kind = FeedForwardKind::kGated,
          .norm_kind = NormKind::kRmsNorm};
}

absl::Status Check(const TransformerSpec& spec) {
  FieldViolations violations;
  CheckTransformer(spec, "m", violations);
  return violations.ToStatus();
}

TEST(CheckTransformer, AcceptsASmallModel) { EXPECT_THAT(Check(Small()), IsOk()); }

TEST(CheckTransformer, NamesEverythingThatAnEmptyOneLacks) {
  EXPECT_THAT(Check(TransformerSpec()),
              NamesFields(UnorderedElementsAre(
                  "m.layer_count", "m.hidden_size", "m.feed_forward_size", "m.attention_head_count",
                  "m.vocabulary_size", "m.feed_forward_kind", "m.norm_kind")));
}

// Every size, below its range and far above it.
TEST(CheckTransformer, NamesTheSizeThatIsOutOfRange) {
  using Sizes = std::pair<const char*, std::function<int64_t&(TransformerSpec&)>>;
  const Sizes sizes[] = {
      {"m.layer_count", [](TransformerSpec& s) -> int64_t& { return s.layer_count; }},
      {"m.hidden_size", [](TransformerSpec& s) -> int64_t& { return s.hidden_size; }},
      {"m.feed_forward_size", [](TransformerSpec& s) -> int64_t& { return s.feed_forward_size; }},
      {"m.attention_head_count",
       [](TransformerSpec& s) -> int64_t& { return s.attention_head_count; }},
      {"m.key_value_head_count",
       [](TransformerSpec& s) -> int64_t& { return s.key_value_head_count; }},
      {"m.head_size", [](TransformerSpec& s) -> int64_t& { return s.head_size; }},
      {"m.vocabulary_size", [](TransformerSpec& s) -> int64_t& { return s.vocabulary_size; }},
      {"m.learned_position_count",
       [](TransformerSpec& s) -> int64_t& { return s.learned_position_count; }},
      {"m.norms_per_layer", [](TransformerSpec& s) -> int64_t& { return s.norms_per_layer; }},
      {"m.embedding_size", [](TransformerSpec& s) -> int64_t& { return s.embedding_size; }},
  };
  for (const auto& [field, member] : sizes) {
    for (const int64_t bad : {int64_t{-1}, INT64_MIN, INT64_MAX}) {
      TransformerSpec spec = Small();
      member(spec) = bad;
      EXPECT_THAT(Check(spec), NamesFields(Contains(field))) << field << " = " << bad;
    }
  }
}

TEST(CheckTransformer, HeadsAreNoWiderThanAnArchitectures) {
  TransformerSpec spec = Small();
  spec.key_value_head_count = 1;
  spec.hidden_size = 2'000'000;
  spec.attention_head_count = 2;
  EXPECT_THAT(Check(spec), IsOk());
  EXPECT_THAT(CountArchitecture(DenseDecoder(spec), "m"), IsOk());
  spec.attention_head_count = 1;  // heads of 2,000,000 features, which no architecture has
  EXPECT_THAT(Check(spec), NamesFields(ElementsAre("m.attention_head_count")));
}

TEST(CheckTransformer, HeadsHaveToDivide) {
  TransformerSpec spec = Small();
  spec.attention_head_count = 3;  // 8 / 3
  EXPECT_THAT(Check(spec), NamesFields(ElementsAre("m.attention_head_count")));
  spec.head_size = 5;  // given: nothing has to divide
  EXPECT_THAT(Check(spec), IsOk());
  spec.key_value_head_count = 2;  // 3 / 2
  EXPECT_THAT(Check(spec), NamesFields(ElementsAre("m.key_value_head_count")));
  spec.key_value_head_count = 6;  // more than there are
  EXPECT_THAT(Check(spec), NamesFields(ElementsAre("m.key_value_head_count")));
}

TEST(WithDefaults, FillsInWhatZeroStandsFor) {
  const TransformerSpec spec = WithDefaults(Small());
  EXPECT_EQ(spec.key_value_head_count, 4);
  EXPECT_EQ(spec.head_size, 2);
  EXPECT_EQ(spec.embedding_size, 8);
}

// Dense decoders, worked by hand.

// h = 8, 2 layers, 4 query heads and 2 key heads of size 2, f = 32, V = 100.
TransformerSpec SmallModel() {
  return {.layer_count = 2,
          .hidden_size = 8,
          .feed_forward_size = 32,
          .attention_head_count = 4,
          .key_value_head_count = 2,
          .vocabulary_size = 100,
          .feed_forward_kind = FeedForwardKind::kGated,
          .norm_kind = NormKind::kRmsNorm};
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
  void (*apply)(TransformerSpec&);
  int64_t difference;  // from 3560, worked by hand
};

TEST(DenseDecoder, EachOptionAddsWhatItSays) {
  const OptionChange changes[] = {
      {"tied head", [](TransformerSpec& s) { s.tied_embeddings = true; }, -800},
      {"ungated", [](TransformerSpec& s) { s.feed_forward_kind = FeedForwardKind::kPlain; },
       -2 * 8 * 32},
      {"layer norm has a bias too", [](TransformerSpec& s) { s.norm_kind = NormKind::kLayerNorm; },
       5 * 8},
      {"norms without parameters",
       [](TransformerSpec& s) { s.norm_kind = NormKind::kNonParametric; }, -5 * 8},
      {"one norm a layer", [](TransformerSpec& s) { s.norms_per_layer = 1; }, -2 * 8},
      {"four norms a layer", [](TransformerSpec& s) { s.norms_per_layer = 4; }, 4 * 8},
      {"no final norm", [](TransformerSpec& s) { s.final_norm = false; }, -8},
      {"query key norm a head",
       [](TransformerSpec& s) { s.query_key_norm = QueryKeyNorm::kPerHead; }, 2 * 2 * 2},
      {"query key norm over heads",
       [](TransformerSpec& s) { s.query_key_norm = QueryKeyNorm::kAllHeads; }, 2 * (8 + 4)},
      {"qkv bias", [](TransformerSpec& s) { s.query_key_value_bias = true; }, 2 * (8 + 2 * 4)},
      {"output bias", [](TransformerSpec& s) { s.attention_output_bias = true; }, 2 * 8},
      {"gated feed-forward bias", [](TransformerSpec& s) { s.feed_forward_bias = true; },
       2 * (2 * 32 + 8)},
      {"head bias", [](TransformerSpec& s) { s.output_head_bias = true; }, 100},
      {"learned positions", [](TransformerSpec& s) { s.learned_position_count = 50; }, 50 * 8},
      {"larger heads", [](TransformerSpec& s) { s.head_size = 4; },
       2 * (8 * 8 + 2 * 4 * 8 + 8 * 8)},
      {"all heads have keys", [](TransformerSpec& s) { s.key_value_head_count = 0; },
       2 * 2 * 4 * 8},
      // Both tables shrink to 100 x 4; two projections of 4 x 8 join them to the rest.
      {"narrow embedding", [](TransformerSpec& s) { s.embedding_size = 4; }, -2 * 400 + 2 * 32},
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
