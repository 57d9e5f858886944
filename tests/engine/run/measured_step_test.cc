// How far a measured step is from a layout, and what it says there.
#include <gtest/gtest.h>

#include <utility>

#include "engine/run/plan.h"
#include "engine/run/run_steps.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/plan_parts.h"

namespace sextant {
namespace {

using Change = void (*)(MemoryJob&);

TEST(DistanceOf, CountsTheDoublingsOfEachSize) {
  const std::pair<Change, double> cases[] = {
      {[](MemoryJob& job) { job.layout.tensor_parallel_size = 8; }, 3},
      {[](MemoryJob& job) { job.layout.pipeline_parallel_size = 2; }, 1},
      {[](MemoryJob& job) { job.layout.virtual_stage_count = 4; }, 2},
      {[](MemoryJob& job) { job.layout.expert_parallel_size = 16; }, 4},
      {[](MemoryJob& job) { job.batch.context_parallel_size = 4; }, 2},
      {[](MemoryJob& job) { job.batch.sequence_count = 32; }, 5},
      {[](MemoryJob& job) { job.state.sharding.data_parallel_size = 64; }, 6},
      {[](MemoryJob& job) { job.batch.recomputation.policy = RecomputePolicy::kFull; }, 2},
      {[](MemoryJob& job) { job.batch.attention = AttentionKernel::kUnfused; }, 2},
  };
  MemoryJob all;
  double sum = 0;
  for (const auto& [change, distance] : cases) {
    MemoryJob job;
    change(job);
    EXPECT_EQ(DistanceOf(job, MemoryJob()), distance) << sum;
    EXPECT_EQ(DistanceOf(MemoryJob(), job), distance) << sum;
    change(all);
    sum += distance;
  }
  EXPECT_EQ(DistanceOf(all, MemoryJob()), sum);
  EXPECT_EQ(DistanceOf(all, all), 0);
}

TEST(ErrorShared, FallsToNoneAtSixteenDoublings) {
  EXPECT_EQ(ErrorSharedAt(0), 1);
  EXPECT_EQ(ErrorSharedAt(2), 0.875);
  EXPECT_EQ(ErrorSharedAt(12), 0.25);
  EXPECT_EQ(ErrorSharedAt(16), 0);
  EXPECT_EQ(ErrorSharedAt(20), 0);
}

StepEstimate OneSecond() {
  StepEstimate out = {.seconds = {Seconds(0.75), Seconds(1), Seconds(1.5)}};
  out.parts[static_cast<size_t>(StepCause::kMatmul)] = 1;
  return out;
}

// exp(-0.07) and exp(0.07) around twice the step.
TEST(MeasuredStep, NearItsLayoutIsSureToSevenPercent) {
  StepEstimate step = OneSecond();
  Apply({.distance = 2, .factor = 2, .applied = true}, step);
  EXPECT_EQ(step.seconds.expected, Seconds(2));
  EXPECT_EQ(step.of(StepCause::kMatmul), 2);
  EXPECT_NEAR(step.seconds.low.value(), 1.8647876, 1e-7);
  EXPECT_NEAR(step.seconds.high.value(), 2.1450164, 1e-7);
}

TEST(MeasuredStep, BeyondTwoDoublingsKeepsTheInterval) {
  StepEstimate step = OneSecond();
  Apply({.distance = 2.5, .factor = 2, .applied = true}, step);
  EXPECT_EQ(step.seconds.low, Seconds(1.5));
  EXPECT_EQ(step.seconds.expected, Seconds(2));
  EXPECT_EQ(step.seconds.high, Seconds(3));
  step = OneSecond();
  Apply({.distance = 20, .factor = 1, .applied = false}, step);
  EXPECT_EQ(step.seconds.low, Seconds(0.75));
  EXPECT_EQ(step.seconds.high, Seconds(1.5));
}

// Operations that take twice as long reach half the rate: their FLOPs stay.
TEST(MeasuredStep, SlowsEachOperationDown) {
  RunSpec run = RunOnH100s("llama-3.1-8b", 8, 64);
  run.options.full = true;
  const Plan alone = PlannedStep(run);
  run.measured_step = MeasuredStep{.seconds = 2 * alone.step->estimate.seconds.expected.value(),
                                   .layout = *run.layout};
  const Plan plan = PlannedStep(run);
  ASSERT_FALSE(plan.step->longest_operations.empty());
  ASSERT_EQ(plan.step->longest_operations.size(), alone.step->longest_operations.size());
  for (size_t i = 0; i < plan.step->longest_operations.size(); ++i) {
    const LongOperation& each = plan.step->longest_operations[i];
    const LongOperation& before = alone.step->longest_operations[i];
    EXPECT_DOUBLE_EQ(each.seconds.value(), 2 * before.seconds.value()) << each.name;
    EXPECT_DOUBLE_EQ(each.rate.value(), before.rate.value() / 2) << each.name;
  }
}

}  // namespace
}  // namespace sextant
