#include "engine/search/search_outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/search/layout_choice.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

// A member without a part would set no field, and stay in every key.
TEST(LayoutChoice, HasAPartForEveryMember) {
  const LayoutChoice choice = {.tensor = 2,
                               .pipeline = 3,
                               .virtual_stages = 4,
                               .context = 5,
                               .expert = 6,
                               .expert_tensor = 7,
                               .micro_batch = 8,
                               .shard_group = 9,
                               .zero_stage = ZeroStage::kParameters,
                               .stays_gathered = true,
                               .recompute = {.policy = RecomputePolicy::kFull},
                               .schedule = PipelineSchedule::kDualPipe,
                               .sequence_parallel = true,
                               .offload = Offload::kAll,
                               .loss = LossKind::kFused};
  const LayoutChoice layers = Without<ChoicePart::kState>(
      Without<ChoicePart::kMicroBatch>(Without<ChoicePart::kStages>(choice)));
  EXPECT_EQ(
      layers,
      (LayoutChoice{
          .tensor = 2, .context = 5, .expert = 6, .expert_tensor = 7, .loss = LossKind::kFused}));
  EXPECT_EQ(Without<ChoicePart::kLayers>(layers), LayoutChoice());
}

// Narayanan et al. 2021, table 1, has 64 stages; Megatron-Bridge 24 chunks a stage.
TEST(PublishedSizes, NamesSizesBeyondPublishedRuns) {
  EXPECT_THAT(UnpublishedSizesOf({.pipeline = 64, .virtual_stages = 24}), IsEmpty());
  EXPECT_THAT(
      UnpublishedSizesOf({.pipeline = 65, .virtual_stages = 47}),
      ElementsAre(Field(&UnpublishedSize::field, "parallel.pipeline_parallel_size"),
                  AllOf(Field(&UnpublishedSize::field, "parallel.virtual_stage_count"),
                        Field(&UnpublishedSize::size, 47), Field(&UnpublishedSize::most, 24))));
  EXPECT_TRUE(IsPublished({.pipeline = 64}));
  EXPECT_FALSE(IsPublished({.pipeline = 65}));
}

LayoutOption VirtualOption(int32_t virtual_stages, double seconds,
                           Verdict verdict = Verdict::kFits) {
  LayoutOption out;
  out.choice.pipeline = 2;
  out.choice.virtual_stages = virtual_stages;
  out.step = {Seconds(seconds), Seconds(seconds), Seconds(seconds)};
  out.verdict = verdict;
  return out;
}

SearchOutcome AddedOf(const std::vector<LayoutOption>& options) {
  SearchOutcome out;
  for (const LayoutOption& option : options)
    Add(
        option, [](LayoutOption&) {}, out);
  return out;
}

// The order in which layouts are found does not matter.
TEST(SearchOutcome, TiesGoToLessMemoryThenToSmallerSizes) {
  LayoutOption large = VirtualOption(1, 1);
  LayoutOption small = VirtualOption(2, 1);
  large.process.expected = Bytes(2);
  small.process.expected = Bytes(1);
  EXPECT_EQ(AddedOf({large, small}).best.front().choice.virtual_stages, 2);
  EXPECT_EQ(AddedOf({small, large}).best.front().choice.virtual_stages, 2);
  large.process.expected = Bytes(1);
  EXPECT_EQ(AddedOf({large, small}).best.front().choice.virtual_stages, 1);
  EXPECT_EQ(AddedOf({small, large}).best.front().choice.virtual_stages, 1);
}

TEST(SearchOutcome, PublishedSizesAreFirstWithinOnePercent) {
  SearchOutcome near =
      AddedOf({VirtualOption(47, 1.0), VirtualOption(4, 1.009), VirtualOption(2, 1.2)});
  PutPublishedFirst(near);
  EXPECT_EQ(near.best.front().choice.virtual_stages, 4);
  ASSERT_EQ(near.best.size(), 3u);
  EXPECT_EQ(near.best[1].choice.virtual_stages, 47);

  SearchOutcome far = AddedOf({VirtualOption(47, 1.0), VirtualOption(4, 1.011)});
  PutPublishedFirst(far);
  EXPECT_EQ(far.best.front().choice.virtual_stages, 47);

  SearchOutcome tight = AddedOf({VirtualOption(47, 1.0), VirtualOption(4, 1.0, Verdict::kTight)});
  PutPublishedFirst(tight);
  EXPECT_EQ(tight.best.front().choice.virtual_stages, 47);
}

// More layouts than are listed are between them.
TEST(SearchOutcome, KnowsAPublishedOneThatIsNotListed) {
  std::vector<LayoutOption> options;
  for (int32_t i = 0; i < 20; ++i) options.push_back(VirtualOption(30 + i, 1 + 1e-4 * i));
  SearchOutcome all = AddedOf(options);
  Merge(AddedOf({VirtualOption(8, 1.005)}), all);
  PutPublishedFirst(all);
  EXPECT_EQ(all.best.front().choice.virtual_stages, 8);
  EXPECT_EQ(all.best.size(), kAlternatives);
}

}  // namespace
}  // namespace sextant
