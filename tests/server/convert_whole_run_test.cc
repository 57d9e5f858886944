#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/convert/plan.h"
#include "server/convert/whole_run.h"
#include "tests/server/message_matchers.h"

namespace sextant::server {
namespace {

using ::testing::IsEmpty;

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
  estimate.mfu_basis = MfuBasis::kPredicted;
  estimate.mfu = 0.4;
  estimate.hfu = 0.45;
  estimate.measured_fraction = 0.46;
  estimate.low = Seconds(4);
  estimate.duration = Seconds(5);
  estimate.high = Seconds(5.5);
  estimate.device_hours = 47;
  estimate.cost.emplace(48);
  estimate.energy.emplace(49);
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

// Elapsed time is 1 of steps, 2 of stalls, 4 of checkpoints, 1 of failures.
TEST(WholeRunTo, CarriesTheRun) {
  EXPECT_THAT(WireOfWholeRun().whole_run(), EqualsText(R"(
      basis: ESTIMATE_KIND_PREDICTED step_count: 13 goodput_ratio: 0.125 stall_share: 0.25
      checkpoint_share: 0.5 failure_share: 0.125 mean_time_between_failures_seconds: 14
      expected_failure_count: 33 recommended_time_limit_seconds: 37
      slowest_device { uuid: "GPU-1" hostname: "node7" saved_share: 0.34 saved_seconds: 35
                       saved_cost_usd: 36 }
      checkpoint {
        terms { name: "weight" size_bytes: 18 } terms { name: "first_moment" size_bytes: 19 }
        size_bytes: 20 write_seconds: 21 stall_seconds: 17 young_interval_seconds: 22
        daly_interval_seconds: 23 interval_seconds: 15 count: 24 resume_read_bytes: 25
        resume_read_bytes_per_device: 26 resume_read_seconds: 27 }
      data_loading { bytes_per_token_id: 28 token_file_bytes: 29 read_bytes_per_second: 30
                     device_step_bytes: 31 device_copy_seconds: 32 }
      telemetry { flops_convention: FLOPS_CONVENTION_SIX_N_TOTAL model_flops_per_token: 1
                  planned_mfu: 0.4 peak_flops_per_second: 3 compute_data_type: DATA_TYPE_BF16
                  planned_tokens_per_second: 9 })"));
}

TEST(PlanTo, CarriesAnEstimateOfTime) {
  const v1::TimeEstimate wire = WireOfWholeRun().estimates(0);
  EXPECT_THAT(wire, EqualsText(R"(
      kind: ESTIMATE_KIND_PREDICTED duration_seconds { low: 4 expected: 5 high: 5.5 }
      elapsed_seconds { low: 6 expected: 7 high: 8 } mfu: 0.4 mfu_basis: MFU_BASIS_PREDICTED
      hfu: 0.45 measured_fraction: 0.46 device_hours: 47 tokens_per_second: 9 cost_usd: 48
      energy_joules: 49 deadline { verdict: VERDICT_MET margin: 10 chance: 0.11 }
      budget { verdict: VERDICT_MISSED margin: -12 })"));
  EXPECT_THAT(UnsetFields(wire), IsEmpty());
}

// Detects a field that is added to the API but not to the conversion or to the test.
TEST(WholeRunTo, TheTestKnowsEveryField) {
  EXPECT_THAT(UnsetFields(WireOfWholeRun().whole_run()), IsEmpty());
}

}  // namespace
}  // namespace sextant::server
