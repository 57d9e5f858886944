// A measured step: its distance from a layout, and what it says there. A batch that grows.
#include "engine/run/run_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "engine/run/plan.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

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

// Llama 3 70B on 64 H100s, 128 sequences of 8,192 tokens a step, 2^20 tokens; 2^40 in all.
RunSpec Ramped(const std::vector<BatchPhase>& ramp) {
  RunSpec run = RunOnH100s("llama-3-70b", 64, 128, 8192);
  run.training.token_count = int64_t{1} << 40;
  run.layout->parallel.tensor_parallel_size = 8;
  run.layout->parallel.pipeline_parallel_size = 4;
  run.layout->zero_stage = ZeroStage::kOptimizer;
  run.layout->batch_ramp = ramp;
  return run;
}

// 2^38 of the tokens with half the batch, 2^19 tokens a step.
RunSpec HalfTheBatchFirst() {
  return Ramped({{.token_count = int64_t{1} << 38, .global_batch_size = 64}});
}

// A quarter of the tokens with half the batch: twice as many steps, each faster than with the whole
// batch and slower than half of it.
TEST(BatchRamp, TakesItsOwnSteps) {
  const double even = At(Planned(Ramped({})), EstimateKind::kPredicted).duration.value();
  const Plan plan = Planned(HalfTheBatchFirst());
  EXPECT_EQ(plan.whole_run.steps->count, (1 << 19) + (3 << 18));
  RunSpec half = Ramped({});
  half.layout->global_batch_size = 64;
  const double of_half = At(Planned(half), EstimateKind::kPredicted).duration.value();
  EXPECT_NEAR(At(plan, EstimateKind::kPredicted).duration.value(), 0.25 * of_half + 0.75 * even,
              1e-9 * even);
  EXPECT_GT(of_half, even);
}

// 2^20 + 1 tokens are two steps of 2^19 and one of a single token; the 2^40 - 2^20 - 1 left are
// 2^20 - 1 steps of 2^20, the last of them a token short.
TEST(BatchRamp, EachPhaseEndsWithItsOwnSmallerStep) {
  constexpr int64_t kFirst = (int64_t{1} << 20) + 1;
  const Plan plan = Planned(Ramped({{.token_count = kFirst, .global_batch_size = 64}}));
  const RunSteps& steps = *plan.whole_run.steps;
  EXPECT_EQ(steps.count, 3 + (1 << 20) - 1);
  ASSERT_EQ(steps.phases.size(), 2u);
  EXPECT_EQ(steps.phases[0].token_count, kFirst);
  EXPECT_EQ(steps.phases[0].step_tokens, 1 << 19);
  EXPECT_EQ(steps.phases[1].token_count, (int64_t{1} << 40) - kFirst);
  EXPECT_EQ(steps.phases[1].step_tokens, 1 << 20);
}

// The errors of all steps are shared, so that the run is as sure as one step.
TEST(BatchRamp, HasTheIntervalOfItsLastStep) {
  const Plan plan = Planned(HalfTheBatchFirst());
  const SecondsInterval& step = plan.step->estimate.seconds;
  const TimeEstimate run = At(plan, EstimateKind::kPredicted);
  EXPECT_LT(step.low, step.expected);
  EXPECT_DOUBLE_EQ(run.low.value() / run.duration.value(),
                   step.low.value() / step.expected.value());
  EXPECT_DOUBLE_EQ(run.high.value() / run.duration.value(),
                   step.high.value() / step.expected.value());
}

// All phases have the layout of the last, and differ as much from a measured one: twice as slow a
// step on half the stages, two doublings away, makes each 2^(14 / 16) times as long.
TEST(BatchRamp, AMeasuredStepSlowsEachPhaseAlike) {
  RunSpec run = HalfTheBatchFirst();
  const RunSteps alone = *Planned(run).whole_run.steps;
  RunSpec other = Ramped({});
  other.layout->parallel.pipeline_parallel_size = 2;
  run.measured_step =
      MeasuredStep{.seconds = 2 * Planned(other).step->estimate.seconds.expected.value(),
                   .layout = *other.layout};
  const RunSteps steps = *Planned(run).whole_run.steps;
  ASSERT_EQ(steps.phases.size(), alone.phases.size());
  for (size_t i = 0; i < steps.phases.size(); ++i) {
    EXPECT_NEAR(steps.phases[i].step.value() / alone.phases[i].step.value(), 1.8340081, 1e-6) << i;
  }
}

TEST(BatchRamp, RefusesPhasesThatDoNotFit) {
  const auto expect = [](const std::vector<BatchPhase>& ramp, const char* field,
                         const char* words) {
    EXPECT_THAT(PlanRun(Ramped(ramp)).status(), HasViolation(field, HasSubstr(words)));
  };
  expect({{1000, 3}}, "layout.batch_ramp[0].global_batch_size", "multiple");
  expect({{1000, 0}}, "layout.batch_ramp[0].global_batch_size", "at least 1");
  expect({{int64_t{1} << 40, 64}}, "layout.batch_ramp", "must leave");
  expect(std::vector<BatchPhase>(257, {1, 64}), "layout.batch_ramp", "at most 256");
  expect({{1000, 999'999'999'998}}, "layout.batch_ramp[0].global_batch_size",
         "write 2000000000 or less");
  expect({{1000, 999'999'999'999'998}}, "layout.batch_ramp[0].global_batch_size",
         "a step has at most 1000000000000000000 tokens");
  RunSpec run = Ramped({{1000, 64}});
  run.layout->global_batch_size.reset();
  EXPECT_THAT(PlanRun(run).status(),
              HasViolation("layout.batch_ramp", HasSubstr("layout.global_batch_size")));
}

}  // namespace
}  // namespace sextant
