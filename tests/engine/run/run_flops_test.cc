// A run's FLOPs under each convention, and what its times then stand on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/run/plan.h"
#include "engine/run/resolve.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using enum FlopsConvention;

// 1 token on 1 device of 1e12 FLOP/s, so that a time in picoseconds is FLOPs.
RunSpec RunOf(absl::string_view preset) {
  RunSpec run = OnH100s(1, 1);
  run.model.preset = preset;
  run.cluster.peak_flops_per_second = 1e12;
  run.options.full = true;
  return run;
}

double CountOf(const Plan& plan, FlopsConvention convention) {
  for (const FlopsCount& count : plan.flops.counts) {
    if (count.convention == convention) return count.per_token.value();
  }
  return -1;
}

// The figures worked by hand for case B of the reference models.
TEST(RunFlops, AreExactWhereALengthIsGiven) {
  RunSpec run = RunOf("llama-2-7b");
  EXPECT_EQ(Planned(run).flops.convention, kSixNTotal);
  run.training.sequence_length = 4096;
  const Plan plan = Planned(run);
  EXPECT_EQ(plan.flops.convention, kExactCausal);
  EXPECT_EQ(CountOf(plan, kExactFull), 46084915200);
  EXPECT_EQ(CountOf(plan, kExactCausal), 42863689728);
  EXPECT_EQ(CountOf(plan, kMegatronCausal), 42863689728);
  EXPECT_EQ(CountOf(plan, kSixNTotal), 6.0 * 6738415616);
  EXPECT_DOUBLE_EQ(At(plan, EstimateKind::kLowerBound).duration.value(), 42863689728e-12);
  EXPECT_EQ(plan.flops.hardware->ratio(), 1);
  EXPECT_EQ(*At(plan, EstimateKind::kLowerBound).hfu, 1);
}

// 32 layers are computed once more; a third of their FLOPs, and none of the output head's.
TEST(RunFlops, ThatAreDoneAgainCountInHfuAlone) {
  RunSpec run = RunOf("llama-2-7b");
  run.training.sequence_length = 4096;
  run.training.recompute = RecomputePolicy::kFull;
  run.options.assumed_mfu = 0.4;
  const Plan plan = Planned(run);
  const double head = 6.0 * 32000 * 4096;
  const double model = 42863689728;
  EXPECT_DOUBLE_EQ(plan.flops.hardware->ratio(), (model + (model - head) / 3) / model);
  // At full peak what is done twice takes its time too.
  EXPECT_DOUBLE_EQ(At(plan, EstimateKind::kLowerBound).duration.value(),
                   1e-12 * (model + (model - head) / 3));
  EXPECT_DOUBLE_EQ(*At(plan, EstimateKind::kLowerBound).mfu, 1 / plan.flops.hardware->ratio());
  EXPECT_DOUBLE_EQ(*At(plan, EstimateKind::kLowerBound).hfu, 1);
  EXPECT_DOUBLE_EQ(*At(plan, EstimateKind::kTextbook).mfu, 0.4);
  EXPECT_DOUBLE_EQ(*At(plan, EstimateKind::kTextbook).hfu, 0.4 * plan.flops.hardware->ratio());
  EXPECT_THAT(TextsOf(plan.notes), Contains(HasSubstr("Recomputation (full) makes 1.3")));
}

// It would be an HFU of 1.2.
TEST(RunFlopsRefuse, AnMfuThatRecomputationLeavesNoRoomFor) {
  RunSpec run = RunOf("llama-2-7b");
  run.training.sequence_length = 4096;
  run.options.assumed_mfu = 0.9;
  EXPECT_THAT(PlanRun(run), IsOk());
  run.training.recompute = RecomputePolicy::kFull;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("options.assumed_mfu")));
}

TEST(RunFlops, FollowTheConventionAskedFor) {
  RunSpec run = RunOf("llama-2-7b");
  run.training.sequence_length = 4096;
  run.options.flops_convention = kExactFull;
  EXPECT_DOUBLE_EQ(At(Planned(run), EstimateKind::kLowerBound).duration.value(), 46084915200e-12);
  run.options.flops_convention = kSixNTotal;
  EXPECT_DOUBLE_EQ(At(Planned(run), EstimateKind::kLowerBound).duration.value(),
                   6e-12 * 6738415616);
}

// 2 of the 4 experts of each of 2 layers are met: 6 N is of those.
TEST(RunFlops, OfAMixtureAreOfTheExpertsThatATokenMeets) {
  RunSpec run = RunOf("");
  run.model.architecture = SmallMixture();
  const Plan plan = Planned(run);
  EXPECT_EQ(plan.parameters.all.total - plan.parameters.all.active, 2 * 2 * 3 * 8 * 3);
  EXPECT_EQ(CountOf(plan, kSixNTotal), 6.0 * static_cast<double>(plan.parameters.all.active));
}

TEST(RunFlopsRefuse, SixNWhereNotEveryTokenTrainsEveryParameter) {
  RunSpec frozen = RunOf("llama-2-7b");
  frozen.model.changes.frozen_layer_count = 1;
  EXPECT_THAT(PlanRun(frozen), NamesFields(ElementsAre("training.sequence_length")));
  frozen.training.sequence_length = 128;
  EXPECT_THAT(PlanRun(frozen), IsOk());
  RunSpec two_stacks = RunOf("");
  two_stacks.model.architecture = SmallEncoderDecoder();
  EXPECT_THAT(PlanRun(two_stacks), NamesFields(ElementsAre("training.sequence_length")));
  two_stacks.training.sequence_length = 16;
  EXPECT_THAT(PlanRun(two_stacks), NamesFields(ElementsAre("training.encoder_sequence_length")));
  two_stacks.training.encoder_sequence_length = 64;
  EXPECT_THAT(PlanRun(two_stacks), IsOk());
}

TEST(RunFlopsRefuse, ConventionsThatSayNothingOfTheModel) {
  RunSpec run = RunOf("llama-2-7b");
  run.options.flops_convention = kExactCausal;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("options.flops_convention")));
  run.training.sequence_length = 4096;
  run.options.flops_convention = kChinchilla2022;  // of an ungated feed-forward
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("options.flops_convention")));
}

// An MFU of hardware FLOPs is none.
TEST(RunFlopsRefuse, HardwareFlopsForTimes) {
  RunSpec run = RunOf("gpt2");
  run.training.sequence_length = 1024;
  run.options.flops_convention = kMegatron2021Hardware;
  const auto plan = PlanRun(run);
  EXPECT_THAT(plan, NamesFields(ElementsAre("options.flops_convention")));
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("hardware FLOPs"));
}

TEST(RunFlopsRefuse, LengthsThatMakeNoSense) {
  RunSpec run = RunOf("llama-2-7b");
  for (const int64_t length : {int64_t{-1}, int64_t{0}, INT64_MAX}) {
    run.training.sequence_length = length;
    EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("training.sequence_length"))) << length;
  }
  run.training.sequence_length = 8;
  run.training.encoder_sequence_length = 8;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("training.encoder_sequence_length")));
  run.training.sequence_length.reset();
  run.training.recompute = RecomputePolicy::kFull;
  EXPECT_THAT(PlanRun(run),
              NamesFields(ElementsAre("training.encoder_sequence_length", "training.recompute")));
  run.model = {};
  run.model.parameter_count = 1000;
  run.training = TrainingSpec();
  run.training.token_count = 1;
  run.training.sequence_length = 8;
  EXPECT_THAT(PlanRun(run), NamesFields(ElementsAre("training.sequence_length")));
  run.training.encoder_sequence_length = 8;
  run.training.recompute = RecomputePolicy::kFull;
  EXPECT_THAT(PlanRun(run),
              NamesFields(ElementsAre("training.sequence_length",
                                      "training.encoder_sequence_length", "training.recompute")));
}

}  // namespace
}  // namespace sextant
