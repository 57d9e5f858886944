// Hooks of a device's backend in a measurement: its own clock, its guard, and a listener for
// phases.
#include <gmock/gmock.h>

#include "engine/base/reason.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/gpu_probe/measure_fixture.h"

namespace sextant::probe {
namespace {

using ::testing::ElementsAre;

class MeasureHooksTest : public MeasureTest {};

TEST_F(MeasureHooksTest, TheDevicesOwnClockIsTheTime) {
  Add("matmul", "a", /*run_seconds=*/1e-4).device_share = 0.75;
  const auto measured = Run(/*budget_seconds=*/5);
  ASSERT_THAT(measured, IsOk());
  EXPECT_NEAR(TimesOf(*measured)["a"].median_seconds(), 0.75e-4, 1e-11);
}

TEST_F(MeasureHooksTest, ASampleLastsAsLongAsThePointAsks) {
  Add("matmul", "long", 1e-4);
  Add("matmul", "short", 1e-4);
  last().minimum_sample_seconds = 2e-4;
  auto times = TimesOf(*Run(5));
  EXPECT_GE(times["long"].repetition_count(), 10);
  EXPECT_LE(times["short"].repetition_count(), 3);
  EXPECT_GE(times["short"].repetition_count(), 2);
}

TEST_F(MeasureHooksTest, ARunThatFailsEndsTheMeasurementWithItsWordAndThePoint) {
  Script& script = Add("matmul", "a", 1e-4);
  script.run_status = WithMetadata(absl::InternalError("the kernel failed"), "reason", "sticky");
  EXPECT_THAT(Run(5), IsFailure(v1::ProbeFailure::KIND_INTERNAL, "sticky", "a: the kernel failed"));
}

TEST_F(MeasureHooksTest, ADeviceWhoseClockTellsNonsenseIsNotMeasured) {
  for (const double share :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Add("matmul", "a", 1e-4).device_share = share;
    EXPECT_EQ(Run(5).status().code(), absl::StatusCode::kInternal) << share;
    plan_.points.clear();
  }
}

TEST_F(MeasureHooksTest, TheGuardIsAskedNowAndThenAndOnceAtTheEnd) {
  for (const char* label : {"a", "b", "c"}) Add("matmul", label, 1e-3);
  std::vector<double> asked;
  plan_.may_go_on = [&] {
    asked.push_back(clock_.NowSeconds());
    return absl::OkStatus();
  };
  ASSERT_THAT(Run(5), IsOk());
  ASSERT_GE(asked.size(), 2U);
  EXPECT_EQ(asked.front(), start_seconds_);  // before anything is done
  EXPECT_EQ(asked.back(), clock_.NowSeconds());
  for (size_t i = 1; i + 1 < asked.size(); ++i) EXPECT_GE(asked[i], asked[i - 1] + kGuardSeconds);
}

TEST_F(MeasureHooksTest, WhatTheGuardRefusesIsNotMeasuredFurther) {
  Script& first = Add("matmul", "a", 0.1);  // its samples take longer than kGuardSeconds
  Script& second = Add("stream", "b", 0.1);
  plan_.may_go_on = [&] {
    return first.run_count == 0 ? absl::OkStatus() : absl::AbortedError("somebody came");
  };
  EXPECT_EQ(Run(5).status(), absl::AbortedError("somebody came"));
  EXPECT_EQ(second.run_count, 0);
  EXPECT_FALSE(first.alive);
}

TEST_F(MeasureHooksTest, ATenantThatComesWithTheLastSampleSpoilsItAll) {
  Script& only = Add("matmul", "a", 1e-3);
  plan_.may_go_on = [&] {
    return only.alive || only.run_count == 0 ? absl::OkStatus()
                                             : absl::AbortedError("somebody came");
  };
  EXPECT_EQ(Run(5).status().code(), absl::StatusCode::kAborted);
}

TEST_F(MeasureHooksTest, ASustainedSampleReportsItsEvents) {
  Script& script = Add("sustained", "a", 10e-3);
  last().sustained_seconds = 1;
  std::vector<std::pair<SustainedEvent, double>> told;
  last().on_sustained = [&](SustainedEvent event) {
    told.emplace_back(event, static_cast<double>(script.run_count));
    return absl::OkStatus();
  };
  const auto measured = Run(5);
  ASSERT_THAT(measured, IsOk());
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0].first, SustainedEvent::kBegins);
  EXPECT_EQ(told[1].first, SustainedEvent::kCounts);
  EXPECT_EQ(told[2].first, SustainedEvent::kEnds);
  // Half a second of 10 ms each, give or take a slice of 50 ms.
  EXPECT_NEAR(told[1].second - told[0].second, 50, 5);
  EXPECT_NEAR(told[2].second - told[1].second, 50, 5);
}

TEST_F(MeasureHooksTest, AFaultAtAnEventOfASustainedSampleEndsTheMeasurement) {
  Add("sustained", "a", 10e-3);
  last().sustained_seconds = 1;
  last().on_sustained = [](SustainedEvent event) {
    return event == SustainedEvent::kCounts ? absl::DataLossError("no clock") : absl::OkStatus();
  };
  EXPECT_EQ(Run(5).status().message(), "a: no clock");
}

}  // namespace
}  // namespace sextant::probe
