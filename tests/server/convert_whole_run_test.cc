#include <gtest/gtest.h>

#include <utility>

#include "server/convert/plan.h"
#include "server/convert/whole_run.h"

namespace sextant::server {
namespace {

// A different value in every field.
Plan SampleWholeRun() {
  Plan plan;
  plan.flops.counts.push_back(
      {.convention = FlopsConvention::kSixNTotal, .per_token = Flops(1), .run = Flops(2)});
  plan.flops.convention = FlopsConvention::kSixNTotal;
  plan.compute_data_type = DataType::kBf16;
  plan.peak = FlopsPerSecond(3);
  TimeEstimate& estimate = plan.estimates.emplace_back();
  estimate.kind = EstimateKind::kPredicted;
  estimate.mfu = 0.4;
  estimate.duration = estimate.low = estimate.high = Seconds(5);
  estimate.elapsed_low = Seconds(6);
  estimate.elapsed = Seconds(7);
  estimate.elapsed_high = Seconds(8);
  estimate.tokens_per_second = 9;
  estimate.deadline = LimitCheck{.met = true, .margin = 10, .chance = 0.11};
  estimate.budget = LimitCheck{.met = false, .margin = -12};
  WholeRun& whole = plan.whole_run;
  whole.steps.emplace();
  whole.steps->count = 13;
  whole.elapsed = {.steps = 1, .stalls = 2, .checkpoints = 4, .failures = 1};
  whole.interruptions = {.between_failures = Seconds(14),
                         .interval = Seconds(15),
                         .write = Seconds(16),
                         .stall = Seconds(17)};
  whole.checkpoint.terms = {{"weight", Bytes(18)}, {"first_moment", Bytes(19)}};
  whole.checkpoint.size = Bytes(20);
  whole.checkpoint.write = Seconds(21);
  whole.checkpoint.young_interval = Seconds(22);
  whole.checkpoint.daly_interval = Seconds(23);
  whole.checkpoint.count = 24;
  whole.checkpoint.resume_read = Bytes(25);
  whole.checkpoint.resume_read_per_device = Bytes(26);
  whole.checkpoint.resume = Seconds(27);
  DataLoading& data = whole.data.emplace();
  data.bytes_per_token_id = 28;
  data.token_file = Bytes(29);
  data.read_rate.emplace(30);
  data.device_step.emplace(31);
  data.device_copy.emplace(32);
  whole.failure_count = 33;
  SlowestCost& slowest = whole.slowest.emplace();
  slowest.device = {.uuid = "GPU-1", .saved_share = 0.34};
  slowest.hostname = "node7";
  slowest.saved = Seconds(35);
  slowest.saved_cost.emplace(36);
  whole.time_limit = Seconds(37);
  return plan;
}

v1::Plan WireOfWholeRun() {
  v1::Plan out;
  PlanTo(SampleWholeRun(), /*full=*/false, &out);
  return out;
}

TEST(WholeRunTo, CarriesTheRun) {
  const v1::WholeRun wire = WireOfWholeRun().whole_run();
  EXPECT_EQ(wire.basis(), v1::ESTIMATE_KIND_PREDICTED);
  EXPECT_EQ(wire.step_count(), 13);
  EXPECT_EQ(wire.goodput_ratio(), 0.125);
  EXPECT_EQ(wire.stall_share(), 0.25);
  EXPECT_EQ(wire.checkpoint_share(), 0.5);
  EXPECT_EQ(wire.failure_share(), 0.125);
  EXPECT_EQ(wire.mean_time_between_failures_seconds(), 14);
  EXPECT_EQ(wire.expected_failure_count(), 33);
  EXPECT_EQ(wire.recommended_time_limit_seconds(), 37);
  EXPECT_EQ(wire.slowest_device().uuid(), "GPU-1");
  EXPECT_EQ(wire.slowest_device().hostname(), "node7");
  EXPECT_EQ(wire.slowest_device().saved_share(), 0.34);
  EXPECT_EQ(wire.slowest_device().saved_seconds(), 35);
  EXPECT_EQ(wire.slowest_device().saved_cost_usd(), 36);
}

TEST(WholeRunTo, CarriesTheCheckpoint) {
  const v1::CheckpointPlan wire = WireOfWholeRun().whole_run().checkpoint();
  ASSERT_EQ(wire.terms_size(), 2);
  EXPECT_EQ(wire.terms(0).name(), "weight");
  EXPECT_EQ(wire.terms(1).size_bytes(), 19);
  EXPECT_EQ(wire.size_bytes(), 20);
  EXPECT_EQ(wire.write_seconds(), 21);
  EXPECT_EQ(wire.stall_seconds(), 17);
  EXPECT_EQ(wire.young_interval_seconds(), 22);
  EXPECT_EQ(wire.daly_interval_seconds(), 23);
  EXPECT_EQ(wire.interval_seconds(), 15);
  EXPECT_EQ(wire.count(), 24);
  EXPECT_EQ(wire.resume_read_bytes(), 25);
  EXPECT_EQ(wire.resume_read_bytes_per_device(), 26);
  EXPECT_EQ(wire.resume_read_seconds(), 27);
}

TEST(WholeRunTo, CarriesDataAndTelemetry) {
  const v1::WholeRun wire = WireOfWholeRun().whole_run();
  EXPECT_EQ(wire.data_loading().bytes_per_token_id(), 28);
  EXPECT_EQ(wire.data_loading().token_file_bytes(), 29);
  EXPECT_EQ(wire.data_loading().read_bytes_per_second(), 30);
  EXPECT_EQ(wire.data_loading().device_step_bytes(), 31);
  EXPECT_EQ(wire.data_loading().device_copy_seconds(), 32);
  const v1::TelemetryPlan& telemetry = wire.telemetry();
  EXPECT_EQ(telemetry.flops_convention(), v1::FLOPS_CONVENTION_SIX_N_TOTAL);
  EXPECT_EQ(telemetry.model_flops_per_token(), 1);
  EXPECT_EQ(telemetry.planned_mfu(), 0.4);
  EXPECT_EQ(telemetry.peak_flops_per_second(), 3);
  EXPECT_EQ(telemetry.compute_data_type(), v1::DATA_TYPE_BF16);
  EXPECT_EQ(telemetry.planned_tokens_per_second(), 9);
}

TEST(WholeRunTo, CarriesTheElapsedTimeAndItsLimits) {
  const v1::TimeEstimate wire = WireOfWholeRun().estimates(0);
  EXPECT_EQ(wire.elapsed_seconds().low(), 6);
  EXPECT_EQ(wire.elapsed_seconds().expected(), 7);
  EXPECT_EQ(wire.elapsed_seconds().high(), 8);
  EXPECT_EQ(wire.deadline().verdict(), v1::LimitCheck::VERDICT_MET);
  EXPECT_EQ(wire.deadline().margin(), 10);
  EXPECT_EQ(wire.deadline().chance(), 0.11);
  EXPECT_EQ(wire.budget().verdict(), v1::LimitCheck::VERDICT_MISSED);
  EXPECT_EQ(wire.budget().margin(), -12);
  EXPECT_FALSE(wire.budget().has_chance());
}

// The samples above set every field.
TEST(WholeRunTo, TheTestKnowsEveryField) {
  EXPECT_EQ(v1::WholeRun::descriptor()->field_count(), 13);
  EXPECT_EQ(v1::CheckpointPlan::descriptor()->field_count(), 11);
  EXPECT_EQ(v1::DataLoading::descriptor()->field_count(), 5);
  EXPECT_EQ(v1::SlowestDevice::descriptor()->field_count(), 5);
  EXPECT_EQ(v1::TelemetryPlan::descriptor()->field_count(), 6);
  EXPECT_EQ(v1::LimitCheck::descriptor()->field_count(), 3);
  EXPECT_EQ(v1::TimeEstimate::descriptor()->field_count(), 13);
}

}  // namespace
}  // namespace sextant::server
