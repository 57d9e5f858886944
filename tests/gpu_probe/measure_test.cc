#include "gpu_probe/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "gpu_probe/statistics.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/gpu_probe/scripted.h"
#include "tests/support/status_matchers.h"

namespace sextant::probe {
namespace {

using ::testing::AllOf;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Le;
using ::testing::SizeIs;

TEST_F(MeasureTest, EnoughTimeMeasuresEachPointFully) {
  for (const std::string label : {"a", "b", "c"}) {
    Add("grid", label, 2e-3);
    last().pass_count = 3;
  }
  plan_.device.set_uuid("CPU-1");
  plan_.notes = {"A note of the backend."};
  plan_.finish = [](v1::Calibration* out) { out->set_ridge_flops_per_byte(4); };
  const auto measured = Run(60).value();
  const v1::Calibration& calibration = measured.calibration;
  const auto times = TimesOf(measured);
  ASSERT_THAT(times, SizeIs(3));
  for (const auto& [label, time] : times) {
    EXPECT_THAT(time.median_seconds(), DoubleNear(2e-3, 1e-9)) << label;
    EXPECT_TRUE(time.stable()) << label;
    // Two visits of four; then the interval is narrow, and the third takes its least, three.
    EXPECT_EQ(time.sample_count(), 11) << label;
  }
  EXPECT_EQ(calibration.coverage_ratio(), 1);
  ASSERT_TRUE(calibration.has_drift_ratio());
  EXPECT_THAT(calibration.drift_ratio(), DoubleNear(0, 1e-9));
  EXPECT_EQ(calibration.device().uuid(), "CPU-1");
  EXPECT_EQ(calibration.ridge_flops_per_byte(), 4);
  ASSERT_EQ(calibration.notes_size(), 1);
  EXPECT_EQ(calibration.notes(0), "A note of the backend.");
  EXPECT_THAT(calibration.duration_seconds(), DoubleNear(elapsed_seconds(), 1e-9));
  // The warm-up's result, and that of each pass.
  EXPECT_EQ(calibration.checked_result_count(), 3 * 4);
  for (const Script& script : scripts_) {
    EXPECT_EQ(script.make_count, 1);
    EXPECT_EQ(script.check_count, 4);
    EXPECT_EQ(script.poison_count, 4);
    EXPECT_FALSE(script.alive);
  }
}

TEST_F(MeasureTest, TheFigureIsWorkOverTheMedian) {
  Add("grid", "fp32 8x8x8", 2e-3);  // 1e9 FLOP in 2 ms
  ASSERT_THAT(Run(60), IsOk());
  EXPECT_EQ(progress_.back().figure(), "fp32 8x8x8: 500.0 GFLOP/s");
}

TEST_F(MeasureTest, ProgressNeverFallsAndEndsAtOne) {
  for (const std::string label : {"a", "b", "c", "d"}) {
    Add(label < "c" ? "one" : "two", label, 1e-3);
    last().pass_count = 3;
    last().first = label == "c";
  }
  scripts_[1].make_status = absl::UnimplementedError("not here");
  ASSERT_THAT(Run(60), IsOk());
  double fraction = 0;
  double elapsed_seconds = 0;
  for (const v1::ProbeProgress& progress : progress_) {
    EXPECT_GE(progress.fraction(), fraction);
    EXPECT_GE(progress.elapsed_seconds(), elapsed_seconds);
    EXPECT_FALSE(progress.phase().empty());
    fraction = progress.fraction();
    elapsed_seconds = progress.elapsed_seconds();
  }
  EXPECT_EQ(progress_.front().fraction(), 0);
  EXPECT_DOUBLE_EQ(fraction, 1);
}

TEST_F(MeasureTest, FirstPointsComeFirstAndAlone) {
  std::vector<std::string> made;
  for (const std::string label : {"a1", "a2", "b1", "b2"}) {
    Script& script = Add(label.substr(0, 1), label, 1e-3);
    last().first = label == "b2" || label == "a2";
    script.run_seconds = [this, label, &made](int64_t call, double) {
      if (call == 0) made.push_back(label);
      for (size_t i = 0; i < scripts_.size(); ++i) {
        // A phase's workloads live together, with the last first one where it is of that phase.
        if (scripts_[i].alive) {
          EXPECT_EQ(plan_.points[i].phase, label.substr(0, 1));
        }
      }
      return 1e-3;
    };
  }
  ASSERT_THAT(Run(60), IsOk());
  EXPECT_THAT(made, ::testing::ElementsAre("a2", "b2", "b1", "a1"));
}

// Samples taken at the same time agree, whatever else the host does.
TEST_F(MeasureTest, FirstPointsAreSeenAtSeveralTimes) {
  Add("registers", "first", 0).run_seconds = [this](int64_t, double now_seconds) {
    return now_seconds - start_seconds_ < 0.05 ? 4e-3 : 2e-3;  // others compute at the start
  };
  last().first = true;
  last().pass_count = 3;
  for (const std::string label : {"a", "b", "c"}) {
    Add("grid", label, 2e-3);
    last().pass_count = 3;
  }
  const auto measured = Run(60).value();
  const v1::TimeStatistics time = TimesOf(measured)["first"];
  EXPECT_EQ(time.sample_count(), 12);
  EXPECT_THAT(time.median_seconds(), DoubleNear(2e-3, 1e-9));
  EXPECT_FALSE(time.stable());
}

// As a copy whose memory other programs use in the second window, and samples of each agree.
TEST_F(MeasureTest, AHostsSpreadIsThatOfItsWindows) {
  for (const bool of_passes : {false, true}) {
    scripts_.clear();
    plan_.points.clear();
    Add("memory", "copy", 0).run_seconds = [this](int64_t, double now_seconds) {
      return now_seconds - start_seconds_ < 1 ? 2e-3 : 3.2e-3;
    };
    last().first = true;
    last().pass_count = kWindowPassCount;
    last().spread_of_passes = of_passes;
    Add("grid", "others", 200e-3);  // of eight samples
    const v1::TimeStatistics time = TimesOf(Run(60).value())["copy"];
    // The windows' medians are 2 and 3.2 ms.
    const double between = 1.2e-3 / time.median_seconds();
    if (of_passes) {
      EXPECT_THAT(time.relative_spread(), DoubleNear(between, 1e-6));
    } else {
      EXPECT_LT(time.relative_spread(), between);
    }
    EXPECT_FALSE(time.stable());
  }
}

TEST_F(MeasureTest, PassesAreShuffledAnewAndTheSameEveryTime) {
  const auto order = [this] {
    std::vector<std::string> visits;
    scripts_.clear();
    plan_.points.clear();
    for (const std::string label : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
      Script& script = Add("grid", label, 2e-3);
      last().pass_count = 3;
      script.run_seconds = [label, &visits](int64_t, double) {
        if (visits.empty() || visits.back() != label) visits.push_back(label);
        return 2e-3;
      };
    }
    EXPECT_THAT(Run(60), IsOk());
    return visits;
  };
  const std::vector<std::string> visits = order();
  EXPECT_EQ(order(), visits);
  // Where one pass ends with the point that the next starts with, two visits look like one.
  ASSERT_THAT(visits.size(), AllOf(Ge(22u), Le(24u)));
  const std::vector<std::string> first(visits.begin(), visits.begin() + 8);
  const std::vector<std::string> last_pass(visits.end() - 8, visits.end());
  EXPECT_THAT(first, ::testing::UnorderedElementsAre("a", "b", "c", "d", "e", "f", "g", "h"));
  EXPECT_NE(first, last_pass);
}

TEST_F(MeasureTest, DriftIsTheThirdPassOverTheFirst) {
  for (const std::string label : {"a", "b", "c"}) {
    Add("grid", label, 0).run_seconds = [this](int64_t, double now_seconds) {
      // The first pass takes 3 x 8 runs of 2 ms; the second and third are slower.
      return now_seconds - start_seconds_ < 0.0475 ? 2e-3 : 2.2e-3;
    };
    last().pass_count = 3;
  }
  const auto measured = Run(60).value();
  EXPECT_THAT(measured.calibration.drift_ratio(), DoubleNear(0.1, 1e-9));
  for (const auto& [label, time] : TimesOf(measured)) EXPECT_FALSE(time.stable()) << label;
}

TEST_F(MeasureTest, WithoutThreePassesThereIsNoDrift) {
  Add("grid", "a", 2e-3);
  EXPECT_FALSE(Run(60).value().calibration.has_drift_ratio());
}

TEST_F(MeasureTest, NoiseIsSampledToTheMaximum) {
  Add("grid", "bimodal", 0).run_seconds = [](int64_t call, double) {
    return call % 2 == 0 ? 2e-3 : 3e-3;
  };
  const auto measured = Run(60).value();
  const v1::TimeStatistics time = TimesOf(measured)["bimodal"];
  EXPECT_EQ(time.sample_count(), 12);
  EXPECT_FALSE(time.stable());
  EXPECT_GT(time.relative_spread(), 0.2);
}

TEST_F(MeasureTest, WhatCannotBeMadeIsLeftOutWithANote) {
  Add("a", "a1", 1e-3);
  for (const std::string label : {"b1", "b2"}) {
    Add("b", label, 1e-3).make_status = absl::UnimplementedError("No int8 instructions here.");
  }
  Add("c", "c1", 1e-3).make_status = absl::ResourceExhaustedError("3 GiB are not free.");
  last().first = true;
  const auto measured = Run(60).value();
  EXPECT_THAT(measured.calibration.notes(),
              ::testing::ElementsAre("b1 was left out: No int8 instructions here.",
                                     "c1 was left out: 3 GiB are not free."));
  // Points that the device can't do don't count as planned; points without memory do.
  EXPECT_EQ(measured.calibration.coverage_ratio(), 0.5);
  EXPECT_TRUE(absl::IsUnimplemented(measured.left_out));
}

TEST_F(MeasureTest, WhereNothingCanBeMadeTheReasonIsTheError) {
  Add("a", "a1", 1e-3).make_status = absl::ResourceExhaustedError("3 GiB are not free.");
  EXPECT_EQ(Run(60).status(), absl::ResourceExhaustedError("3 GiB are not free."));
}

TEST_F(MeasureTest, AnEmptyPlanIsAnError) {
  EXPECT_EQ(Run(60).status().code(), absl::StatusCode::kUnimplemented);
}

TEST_F(MeasureTest, AWrongResultEndsTheRunAtTheNextCheck) {
  Add("a", "a1", 1e-3);
  Add("a", "a2", 1e-3).wrong_from_check = 1;  // right when warm, wrong when timed
  Add("b", "b1", 1e-3);
  const auto measured = Run(60);
  ASSERT_EQ(measured.status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(measured.status().message(), "a2: element 7 is 1, not 2");
  EXPECT_EQ(scripts_[2].make_count, 0);
}

TEST_F(MeasureTest, AnErrorInMakingEndsTheRun) {
  Add("a", "a1", 1e-3).make_status = absl::InternalError("a defect");
  EXPECT_EQ(Run(60).status(), absl::InternalError("a defect"));
}

TEST_F(MeasureTest, StopsWhereNobodyReads) {
  Add("a", "a1", 1e-3);
  keep_on_ = false;
  EXPECT_EQ(Run(60).status().code(), absl::StatusCode::kCancelled);
  EXPECT_THAT(progress_, SizeIs(1));
}

// Host memory, e.g., takes long to compare; the phases after it end earlier than they might.
TEST_F(MeasureTest, TimeThatIsLeftAtTheEndGoesToThoseThatGotLittle) {
  for (const char* label : {"a", "b", "c", "d"}) Add("host_copy", label, 1e-3).check_seconds = 0.2;
  for (int i = 0; i < 10; ++i) Add(absl::StrCat("phase ", i), absl::StrCat("m", i), 1.5e-2);
  const auto measured = Run(/*budget_seconds=*/5).value();
  auto times = TimesOf(measured);
  EXPECT_EQ(scripts_[3].make_count, 2);  // its workload had gone
  for (const char* label : {"a", "b", "c", "d", "m9"}) {
    EXPECT_GE(times[label].sample_count(), kMinSampleCount) << label;
  }
  EXPECT_LT(elapsed_seconds(), 5);
}

// Hooks of a device's backend: its own clock, its guard, and a listener for a sustained sample.
class MeasureHooksTest : public MeasureTest {};

TEST_F(MeasureHooksTest, TheDevicesOwnClockIsTheTime) {
  Add("matmul", "a", /*run_seconds=*/1e-4).device_share = 0.75;
  EXPECT_NEAR(TimesOf(Run(/*budget_seconds=*/5).value())["a"].median_seconds(), 0.75e-4, 1e-11);
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
  const auto measured = Run(5).value();
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
