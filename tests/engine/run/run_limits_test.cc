// Deadlines and budgets against a run's time and cost, and the time limit for its scheduler.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "engine/run/plan.h"
#include "engine/run/whole_run.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/plan_parts.h"

namespace sextant {
namespace {

using ::testing::Contains;
using ::testing::Not;

// Llama 3 70B on 64 H100s at 2 USD an hour, which fail once in 8 hours.
RunSpec Limited() {
  RunSpec run = RunOnH100s("llama-3-70b", 64, 128, 8192);
  run.layout->parallel.tensor_parallel_size = 8;
  run.layout->parallel.pipeline_parallel_size = 4;
  run.layout->zero_stage = ZeroStage::kOptimizer;
  run.economics.device_hour_price_usd = 2;
  run.interruptions.failures_per_device_hour = 0.125 / 64;
  run.interruptions.checkpoint_write_bytes_per_second = 20e9;
  return run;
}

TEST(RunLimits, ADeadlineFlipsExactlyAtTheEnd) {
  RunSpec run = Limited();
  const double end = At(Planned(run), EstimateKind::kPredicted).elapsed.value();
  run.economics.seconds_to_deadline = end;
  Plan plan = Planned(run);
  EXPECT_TRUE(At(plan, EstimateKind::kPredicted).deadline->met);
  EXPECT_EQ(At(plan, EstimateKind::kPredicted).deadline->margin, 0);
  EXPECT_DOUBLE_EQ(*At(plan, EstimateKind::kPredicted).deadline->chance, 0.5);
  EXPECT_THAT(KindsOf(plan.notes), Not(Contains(NoteKind::kDeadlineMissed)));
  run.economics.seconds_to_deadline = std::nextafter(end, 0);
  plan = Planned(run);
  EXPECT_FALSE(At(plan, EstimateKind::kPredicted).deadline->met);
  EXPECT_THAT(KindsOf(plan.notes), Contains(NoteKind::kDeadlineMissed));
  // The bound has no interval.
  EXPECT_FALSE(At(plan, EstimateKind::kLowerBound).deadline->chance.has_value());
}

TEST(RunLimits, ABudgetFlipsExactlyAtTheCost) {
  RunSpec run = Limited();
  const double cost = At(Planned(run), EstimateKind::kPredicted).cost->value();
  run.economics.budget_usd = cost;
  EXPECT_TRUE(At(Planned(run), EstimateKind::kPredicted).budget->met);
  run.economics.budget_usd = std::nextafter(cost, 0);
  const Plan plan = Planned(run);
  EXPECT_FALSE(At(plan, EstimateKind::kPredicted).budget->met);
  EXPECT_THAT(KindsOf(plan.notes), Contains(NoteKind::kBudgetExceeded));
}

// The ends of an 80 % interval: a run is within the high one 9 times in 10.
TEST(RunLimits, LimitsAtTheEndsAreMetNineTimesInTenOrOne) {
  RunSpec run = Limited();
  const TimeEstimate free = At(Planned(run), EstimateKind::kPredicted);
  const double price = free.cost->value() / free.elapsed.value();
  for (const auto& [end, chance] : {std::pair(free.elapsed_high, 0.9), {free.elapsed_low, 0.1}}) {
    run.economics.seconds_to_deadline = end.value();
    run.economics.budget_usd = end.value() * price;
    const TimeEstimate limited = At(Planned(run), EstimateKind::kPredicted);
    EXPECT_NEAR(*limited.deadline->chance, chance, 1e-9);
    EXPECT_NEAR(*limited.budget->chance, chance, 1e-9);
  }
}

// 30 failures, after each of which 0 to 100 s of work are lost: sqrt(30 x 100^2 / 3) = 316.2 s, and
// 1.28155 times that 405.3. With the 300 s that the steps may take longer, hypot 504.2: within 509
// minutes.
TEST(RunLimits, ATimeLimitAddsFailuresInSquares) {
  WholeRun whole;
  whole.interruptions = {.between_failures = Seconds(1000),
                         .interval = Seconds(90),
                         .write = Seconds(10),
                         .stall = Seconds(10)};
  TimeEstimate estimate;
  estimate.elapsed = Seconds(30'000);
  estimate.elapsed_high = Seconds(30'300);
  EXPECT_EQ(*RecommendedTimeLimit(whole, estimate), Seconds(509 * 60));
}

}  // namespace
}  // namespace sextant
