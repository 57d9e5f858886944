// Adapters of matrices that are held as one, worked by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "engine/model/architecture/count_weights.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;

// The parameters that adapters of that rank add to `spec`.
int64_t Added(ArchitectureSpec spec, int64_t rank, std::vector<WeightName> targets) {
  const auto base = CountArchitecture(spec, "model");
  spec.adapters = AdapterSpec{.rank = rank, .targets = std::move(targets)};
  const auto adapted = CountArchitecture(spec, "model");
  EXPECT_THAT(base, IsOk());
  EXPECT_THAT(adapted, IsOk());
  return base.ok() && adapted.ok() ? adapted->all.total - base->all.total : 0;
}

// Query, key and value have 8 + 4 + 4 rows of 8 in each of two layers, gate and up 32 each: one
// matrix of 2 x 8 for the three, one for the two. Output 8 x 8, down 8 x 32.
TEST(FusedAdapters, OfADecoder) {
  EXPECT_EQ(Added(SmallDecoder(), 2, {{"attention", "query+key+value"}}), 2 * 2 * (8 + 16));
  EXPECT_EQ(Added(SmallDecoder(), 2, {{"feed_forward", "gate+up"}}), 2 * 2 * (8 + 64));
  EXPECT_EQ(Added(SmallDecoder(), 2, {{"all-fused", ""}}), 2 * (48 + 32 + 144 + 80));
}

// Attention of 48 + 32, the router of 4 x 8; of each of four experts gate and up of 3 rows each as
// one, and down: 2 x (8 + 6) and 2 x (3 + 8).
TEST(FusedAdapters, OfExpertsEachItsOwn) {
  EXPECT_EQ(Added(SmallMixture(), 2, {{"all-fused", ""}}), 2 * (80 + 24 + 4 * (28 + 22)));
}

// Query reads the decoder's tokens, key and value the encoder's: 1 x 8 and 8 x 1, and 1 x 8 and two
// of 8 x 1. Of all: (8 + 24) + 16 + (8 + 64) + 40 in both layers, and 16 + 24 + 16 of this.
TEST(FusedAdapters, OfCrossAttention) {
  ArchitectureSpec spec = SmallEncoderDecoder();
  EXPECT_EQ(Added(spec, 1, {{"cross_attention", "query"}, {"cross_attention", "key+value"}}),
            16 + 24);
  EXPECT_EQ(Added(spec, 1, {{"all-fused", ""}}), 2 * 160 + 56);
  spec.adapters = AdapterSpec{.rank = 1, .targets = {{"cross_attention", "query+key+value"}}};
  EXPECT_THAT(CountArchitecture(spec, "model"),
              NamesFields(ElementsAre("model.adapters.targets[0]")));
}

// Without a gate there is one matrix to adapt: 8 + 32 of rank 1 in each layer.
TEST(FusedAdapters, OfAPlainFeedForward) {
  ArchitectureSpec spec = SmallDecoder();
  spec.layer_kinds[0].feed_forward->kind = FeedForwardKind::kPlain;
  EXPECT_EQ(Added(spec, 1, {{"feed_forward", "gate+up"}}), 2 * (8 + 32));
}

}  // namespace
}  // namespace sextant
