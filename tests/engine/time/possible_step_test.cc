// Measured steps and peaks that no device can have: what counts, and what does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/run/plan.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

constexpr double kPeakOf64 = 64 * 989.4e12;

RunSpec OnEightServers() {
  RunSpec run = Tp8Pp4();
  run.cluster.node_type = "dgx-h100";
  run.training.recompute = RecomputePolicy::kNone;
  return run;
}

double LeastSeconds() {
  const double per_token = PlannedStep(OnEightServers()).flops.hardware->hardware_per_token.value();
  return per_token * 64 * 8192 / kPeakOf64;
}

// The same layout with recomputation, which says only a part of the run's own.
TEST(PossibleStep, IsAskedOfLayoutsThatSayLittle) {
  RunSpec run = OnEightServers();
  run.measured_step = MeasuredStep{
      .seconds = 0.9 * LeastSeconds(), .layout = *run.layout, .recompute = RecomputePolicy::kFull};
  EXPECT_THAT(PlanRun(run), HasViolation("measured_step.seconds",
                                         HasSubstr("times as fast as the devices can be")));
}

// Attention of all pairs is about twice what a causal mask leaves; 6 N has none.
TEST(PossibleStep, TakesItsFlopsWhateverConventionIsUsed) {
  for (const FlopsConvention convention :
       {FlopsConvention::kExactFull, FlopsConvention::kSixNTotal}) {
    RunSpec run = OnEightServers();
    run.options.flops_convention = convention;
    run.measured_step = MeasuredStep{.seconds = 1.001 * LeastSeconds(), .layout = *run.layout};
    EXPECT_THAT(PlanRun(run), IsOk());
    run.measured_step->seconds = 0.999 * LeastSeconds();
    EXPECT_THAT(PlanRun(run), HasViolation("measured_step.seconds", HasSubstr("FLOPs")));
  }
}

// 8.3 ms are too few for the state of this run on the devices (StepPlan), 5.8 ms for its FLOPs.
TEST(PossibleStep, MovesNoStateThatIsOnTheHost) {
  RunSpec run = RunOnH100s("llama-3-8b", 8, 8, 128);
  run.layout->zero_stage = ZeroStage::kOptimizer;
  run.layout->sharding.offload_optimizer = true;
  run.measured_step = MeasuredStep{.seconds = 0.0083, .layout = *run.layout};
  EXPECT_THAT(PlanRun(run), IsOk());
}

TEST(PossiblePeak, IsAtLeastWhatRecomputationTakesToo) {
  RunSpec run = OnEightServers();
  run.training.recompute = RecomputePolicy::kFull;
  const TimeEstimate predicted = PlannedStep(run).estimates.front();
  ASSERT_LT(*predicted.mfu, 0.9 * *predicted.hfu);
  run.cluster.peak_flops_per_second = 0.999 * *predicted.hfu * 989.4e12;
  EXPECT_THAT(PlanRun(run), HasViolation("cluster.peak_flops_per_second", HasSubstr("HFU")));
}

// The run's own step is impossible at that peak: no measured one is to blame.
TEST(PossiblePeak, IsNamedWhereAMeasuredStepIsNot) {
  RunSpec run = OnEightServers();
  const double hfu = *PlannedStep(run).estimates.front().hfu;
  run.measured_step = MeasuredStep{.seconds = 2 * LeastSeconds() / hfu, .layout = *run.layout};
  run.measured_step->layout.software.of(StackConstant::kHostSecondsPerLayer) = 1;
  run.cluster.peak_flops_per_second = 0.999 * hfu * 989.4e12;
  EXPECT_THAT(PlanRun(run), HasViolation("cluster.peak_flops_per_second", HasSubstr("HFU")));
}

}  // namespace
}  // namespace sextant
