// Times of a run by its FLOPs, and the predictor of its steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/run/plan.h"
#include "engine/run/step_predictor.h"
#include "tests/engine/run/measured_runs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

// 3.6e18 FLOP on 2 devices of 1e15 FLOP/s at MFU 0.5: one hour.
TimeInput OneHour() {
  return {.mfu_basis = MfuBasis::kRequest,
          .flops = Flops(3.6e18),
          .rate = FlopsPerSecond(1e15),
          .utilisation = 0.5,
          .peak = FlopsPerSecond(1e15),
          .device_count = 2,
          .token_count = 7200,
          .device_hour_price_usd = {},
          .device_power = {},
          .host_power_per_device = Watts(0),
          .power_usage_effectiveness = 1};
}

// 8e15 FLOP on 4 devices of 1e15 FLOP/s: 2 s at full peak, 5 s at MFU 0.4.
TEST(TimeEstimate, DurationIsFlopsOverTheRateReached) {
  TimeInput input = OneHour();
  input.flops = Flops(8e15);
  input.device_count = 4;
  input.utilisation = 1;
  EXPECT_DOUBLE_EQ(TimeEstimateOf(input).duration.value(), 2);
  input.utilisation = 0.4;
  EXPECT_DOUBLE_EQ(TimeEstimateOf(input).duration.value(), 5);
}

TEST(TimeEstimate, OfAnHourOnTwoDevices) {
  const TimeEstimate cost = TimeEstimateOf(OneHour());
  EXPECT_DOUBLE_EQ(cost.duration.value(), 3600);
  EXPECT_DOUBLE_EQ(cost.device_hours, 2);
  EXPECT_DOUBLE_EQ(cost.tokens_per_second, 2);
  EXPECT_EQ(cost.mfu, 0.5);
  EXPECT_EQ(cost.mfu_basis, MfuBasis::kRequest);
  EXPECT_FALSE(cost.measured_fraction.has_value());
  EXPECT_FALSE(cost.cost.has_value());
  EXPECT_FALSE(cost.energy.has_value());
}

// The same 0.5e15 FLOP/s reached, as a share of a peak of 1e15 and of a measured 0.8e15.
TEST(TimeEstimate, SharesArePartsOfTheirOwnWhole) {
  TimeInput input = OneHour();
  input.measured = FlopsPerSecond(0.8e15);
  EXPECT_DOUBLE_EQ(*TimeEstimateOf(input).mfu, 0.5);
  EXPECT_DOUBLE_EQ(*TimeEstimateOf(input).measured_fraction, 0.625);
  input.peak = {};
  EXPECT_FALSE(TimeEstimateOf(input).mfu.has_value());
}

// At the whole measured rate: 3.6e18 / (2 x 0.8e15) = 2250 s.
TEST(TimeEstimate, AtTheMeasuredRate) {
  TimeInput input = OneHour();
  input.rate = FlopsPerSecond(0.8e15);
  input.measured = input.rate;
  input.utilisation = 1;
  const TimeEstimate cost = TimeEstimateOf(input);
  EXPECT_DOUBLE_EQ(cost.duration.value(), 2250);
  EXPECT_EQ(*cost.measured_fraction, 1);
  EXPECT_DOUBLE_EQ(*cost.mfu, 0.8);
}

TEST(TimeEstimate, PricesDeviceHours) {
  TimeInput input = OneHour();
  input.device_hour_price_usd = 2.5;
  EXPECT_DOUBLE_EQ(TimeEstimateOf(input).cost->value(), 5);
  input.device_hour_price_usd = 0;  // free, not unknown
  EXPECT_DOUBLE_EQ(TimeEstimateOf(input).cost->value(), 0);
}

// 2 x (700 + 100) W x 3600 s x 1.25
TEST(TimeEstimate, AddsHostsAndFacilityToTheEnergy) {
  TimeInput input = OneHour();
  input.device_power = Watts(700);
  input.host_power_per_device = Watts(100);
  input.power_usage_effectiveness = 1.25;
  EXPECT_DOUBLE_EQ(TimeEstimateOf(input).energy->value(), 7.2e6);
}

// Whoever waits no longer is asked before each device's models are fitted; a product's are known.
TEST(StepPredictor, EndsBetweenMeasuredDevices) {
  RunSpec run = SuppliedRun(MeasuredH100("GPU-1"));
  run.cluster.device.calibrations.push_back(ModelOf(MeasuredH100("GPU-2")));
  run.cluster.device_count = 2;
  run.model.parameter_count.reset();
  run.model.preset = "llama-3.1-8b";
  run.training.sequence_length = 4096;
  run.layout = RunLayout{};
  run.layout->global_batch_size = 2;
  int asked = 0;
  const auto stop = [&asked] {
    return ++asked < 2 ? absl::OkStatus() : absl::CancelledError("gone");
  };
  const auto code_of = [&] {
    const auto resolved = Resolve(run, {});
    EXPECT_THAT(resolved, IsOk());
    CallWork work(stop);
    return StepPredictor::Of(run, *resolved, work).status().code();
  };
  EXPECT_EQ(code_of(), absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 2);
  run.cluster.device = {};
  run.cluster.device.accelerator = "h100-sxm";
  EXPECT_EQ(code_of(), absl::StatusCode::kOk);
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace sextant
