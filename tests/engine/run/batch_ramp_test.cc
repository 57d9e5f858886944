// Runs whose batch grows while they train.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "engine/run/plan.h"
#include "engine/run/run_steps.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

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
  expect(std::vector<BatchPhase>(65, {1, 64}), "layout.batch_ramp", "at most 64");
  expect({{1000, 999'999'999'998}}, "layout.batch_ramp[0].global_batch_size", "must be");
  expect({{1000, 999'999'999'999'998}}, "layout.batch_ramp[0].global_batch_size",
         "a step has at most 1000000000000000000 tokens");
  RunSpec run = Ramped({{1000, 64}});
  run.layout->global_batch_size.reset();
  EXPECT_THAT(PlanRun(run).status(),
              HasViolation("layout.batch_ramp", HasSubstr("layout.global_batch_size")));
}

}  // namespace
}  // namespace sextant
