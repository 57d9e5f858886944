#include "gpu_probe/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/gpu_probe/scripted.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::SizeIs;

class MeasureTest : public ::testing::Test {
 protected:
  // Adds a point, and returns its script for changes.
  Script& Add(const std::string& phase, const std::string& label, double run_seconds) {
    scripts_.push_back(ConstantScript(run_seconds));
    plan_.points.push_back(ScriptedPoint(phase, label, &scripts_.back(), &clock_));
    return scripts_.back();
  }
  Point& last() { return plan_.points.back(); }

  absl::StatusOr<Measurement> Run(double budget_seconds) {
    start_seconds_ = clock_.NowSeconds();
    return Measure(plan_,
                   {.start_seconds = start_seconds_,
                    .budget_seconds = budget_seconds,
                    .all_essential = all_essential_,
                    .shuffle_seed = 1},
                   clock_, [this](const v1::ProbeProgress& progress) {
                     progress_.push_back(progress);
                     return keep_on_;
                   });
  }
  double elapsed_seconds() { return clock_.NowSeconds() - start_seconds_; }

  // By label.
  static std::map<std::string, v1::TimeStatistics> TimesOf(const Measurement& measurement) {
    std::map<std::string, v1::TimeStatistics> times;
    for (const v1::MatmulMeasurement& matmul : measurement.calibration.matmuls()) {
      times[matmul.kernel()] = matmul.time();
    }
    return times;
  }

  ScriptedClock clock_;
  std::deque<Script> scripts_;  // a deque: points hold addresses
  ProbePlan plan_;
  bool all_essential_ = false;
  bool keep_on_ = true;
  double start_seconds_ = 0;
  std::vector<v1::ProbeProgress> progress_;
};

TEST_F(MeasureTest, EnoughTimeMeasuresEachPointFully) {
  for (const std::string label : {"a", "b", "c"}) {
    Add("grid", label, 2e-3);
    last().pass_count = 3;
  }
  plan_.device.set_uuid("CPU-1");
  plan_.notes = {"A note of the backend."};
  plan_.finish = [](v1::Calibration* out) { out->set_ridge_flops_per_byte(4); };
  const auto measured = Run(60);
  ASSERT_THAT(measured, IsOk());
  const v1::Calibration& calibration = measured->calibration;
  const auto times = TimesOf(*measured);
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
        // A phase's workloads live together; a first one lives alone.
        if (plan_.points[i].first && scripts_[i].alive) {
          EXPECT_EQ(plan_.points[i].label, label);
        }
      }
      return 1e-3;
    };
  }
  ASSERT_THAT(Run(60), IsOk());
  EXPECT_THAT(made, ::testing::ElementsAre("a2", "b2", "a1", "b1"));
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
      // The first pass takes 3 x 6 runs of 2 ms; the second and third are slower.
      return now_seconds - start_seconds_ < 0.0355 ? 2e-3 : 2.2e-3;
    };
    last().pass_count = 3;
  }
  const auto measured = Run(60);
  ASSERT_THAT(measured, IsOk());
  EXPECT_THAT(measured->calibration.drift_ratio(), DoubleNear(0.1, 1e-9));
  for (const auto& [label, time] : TimesOf(*measured)) EXPECT_FALSE(time.stable()) << label;
}

TEST_F(MeasureTest, WithoutThreePassesThereIsNoDrift) {
  Add("grid", "a", 2e-3);
  const auto measured = Run(60);
  ASSERT_THAT(measured, IsOk());
  EXPECT_FALSE(measured->calibration.has_drift_ratio());
}

TEST_F(MeasureTest, NoiseIsSampledToTheMaximum) {
  Add("grid", "bimodal", 0).run_seconds = [](int64_t call, double) {
    return call % 2 == 0 ? 2e-3 : 3e-3;
  };
  const auto measured = Run(60);
  ASSERT_THAT(measured, IsOk());
  const v1::TimeStatistics time = TimesOf(*measured)["bimodal"];
  EXPECT_EQ(time.sample_count(), 12);
  EXPECT_FALSE(time.stable());
  EXPECT_GT(time.relative_spread(), 0.2);
}

// Every budget ends within it, for as long as runs take what they took before, whichever part
// it cuts: first points, passes, or a sustained run.
TEST_F(MeasureTest, TheSoftDeadlineHoldsInEveryPhase) {
  int cut_count = 0;
  for (double budget_seconds = 0.1; budget_seconds < 6; budget_seconds *= 1.15) {
    scripts_.clear();
    plan_.points.clear();
    progress_.clear();
    for (const std::string label : {"a1", "a2", "a3", "b1", "b2", "c1"}) {
      Add(label.substr(0, 1), label, 30e-3).check_seconds = 5e-3;
      last().pass_count = label[0] == 'a' ? 3 : 1;
      last().first = label == "a1";
    }
    Add("sustained", "s", 30e-3);
    last().sustained_seconds = 1;
    const auto measured = Run(budget_seconds);
    // A warm-up may start when its time is not known: it is all that can pass the deadline.
    EXPECT_LE(elapsed_seconds(), budget_seconds + 0.035 + 1e-9) << budget_seconds;
    ASSERT_THAT(measured, IsOk()) << budget_seconds;
    const auto times = TimesOf(*measured);
    EXPECT_TRUE(times.contains("a1")) << budget_seconds;
    EXPECT_DOUBLE_EQ(measured->calibration.coverage_ratio(), static_cast<double>(times.size()) / 7);
    if (times.size() < 7) {
      ++cut_count;
      EXPECT_THAT(measured->calibration.notes(), Contains(HasSubstr("budget of")));
    }
    for (const auto& [label, time] : times) {
      EXPECT_TRUE(label == "s" || time.sample_count() >= 6 || !time.stable()) << label;
    }
    for (const Script& script : scripts_) EXPECT_FALSE(script.alive);
  }
  EXPECT_GT(cut_count, 5);
}

TEST_F(MeasureTest, OneSampleEverywhereBeatsManyOfFew) {
  for (int i = 0; i < 10; ++i) {
    Add("grid", absl::StrCat("p", i), 50e-3);
    last().pass_count = 3;
  }
  const auto measured = Run(2);  // 40 runs, for warm-ups and 90 samples
  ASSERT_THAT(measured, IsOk());
  EXPECT_EQ(measured->calibration.coverage_ratio(), 1);
  for (const auto& [label, time] : TimesOf(*measured)) {
    EXPECT_THAT(time.sample_count(), AllOf(Ge(2), Le(4))) << label;
    EXPECT_FALSE(time.stable()) << label;
  }
}

TEST_F(MeasureTest, SlowPointsDoNotStarveFastOnes) {
  for (int i = 0; i < 4; ++i) {
    Add("grid", absl::StrCat("slow", i), 0.2);
    Add("grid", absl::StrCat("fast", i), 2e-3);
  }
  const auto measured = Run(3);
  ASSERT_THAT(measured, IsOk());
  auto times = TimesOf(*measured);
  for (int i = 0; i < 4; ++i) {
    EXPECT_GE(times[absl::StrCat("slow", i)].sample_count(), 1);
    EXPECT_GE(times[absl::StrCat("fast", i)].sample_count(), 8);
  }
}

TEST_F(MeasureTest, AMachineThatSlowsTenfoldHalfWayStillEnds) {
  for (int i = 0; i < 8; ++i) {
    Add("grid", absl::StrCat("p", i), 0).run_seconds = [this](int64_t, double now_seconds) {
      return now_seconds - start_seconds_ < 1 ? 10e-3 : 100e-3;
    };
    last().pass_count = 3;
  }
  const auto measured = Run(2);
  ASSERT_THAT(measured, IsOk());
  // What is under way when it slows down, and each first run after it, may take the 90 ms more.
  EXPECT_LE(elapsed_seconds(), 2.2);
  EXPECT_EQ(measured->calibration.coverage_ratio(), 1);
}

TEST_F(MeasureTest, NothingMeasuredIsADeadlineThatSaysWhatToGive) {
  Add("grid", "fp32 8x8x8", 3).make_seconds = 4;
  const auto measured = Run(5);
  ASSERT_EQ(measured.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(measured.status().message(),
            "the budget of 5s was up before fp32 8x8x8 was measured (0 of 1 points were): give "
            "--budget=10s");
}

TEST_F(MeasureTest, AFirstPointThatIsMissingIsADeadline) {
  Add("a", "a1", 0.4);
  last().first = true;
  Add("b", "b1", 3);
  last().first = true;
  const auto measured = Run(2);
  ASSERT_EQ(measured.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(std::string(measured.status().message()), HasSubstr("b1"));
}

TEST_F(MeasureTest, AShapeThatCannotEndIsRefusedBeforeItRuns) {
  all_essential_ = true;
  Add("registers", "fp32 registers", 10e-3).run_seconds = [](int64_t, double) { return 10e-3; };
  Script& large = Add("matmul fp32", "fp32 16384x32768x8192", 88);
  last().work = 8.8e12;  // 88 s at the registers' 1e11 FLOP/s
  const auto measured = Run(65);
  ASSERT_EQ(measured.status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(large.make_count, 0);
  EXPECT_THAT(std::string(measured.status().message()),
              AllOf(HasSubstr("fp32 16384x32768x8192 takes at least 88.0 s a run"),
                    HasSubstr("needs two runs"), HasSubstr("give --budget=265s")));
}

TEST_F(MeasureTest, AShapeThatNoBudgetFitsIsSaidToBe) {
  all_essential_ = true;
  Add("registers", "fp32 registers", 10e-3);
  Add("matmul fp32", "fp32 1000000x1000000x1000000", 1);
  last().work = 2e18;
  const auto measured = Run(65);
  EXPECT_THAT(std::string(measured.status().message()), HasSubstr("no --budget up to 3600s"));
}

TEST_F(MeasureTest, EachShapeThatWasAskedForIsEssential) {
  all_essential_ = true;
  Add("matmul", "small", 1e-3);
  Add("matmul", "large", 3);
  last().work = 1;  // the small one's rate says nothing of it
  EXPECT_EQ(Run(5).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(MeasureTest, WhatCannotBeMadeIsLeftOutWithANote) {
  Add("a", "a1", 1e-3);
  for (const std::string label : {"b1", "b2"}) {
    Add("b", label, 1e-3).make_status = absl::UnimplementedError("No int8 instructions here.");
  }
  Add("c", "c1", 1e-3).make_status = absl::ResourceExhaustedError("3 GiB are not free.");
  last().first = true;
  const auto measured = Run(60);
  ASSERT_THAT(measured, IsOk());
  EXPECT_THAT(measured->calibration.notes(),
              ::testing::ElementsAre("No int8 instructions here.", "3 GiB are not free."));
  EXPECT_EQ(measured->calibration.coverage_ratio(), 1);
  EXPECT_TRUE(absl::IsUnimplemented(measured->left_out));
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

TEST_F(MeasureTest, SustainedPointsGetTheirTime) {
  for (int i = 0; i < 20; ++i) Add("grid", absl::StrCat("p", i), 20e-3);
  Add("sustained", "s", 20e-3);
  last().sustained_seconds = 1;
  const auto measured = Run(3);  // the grid alone would take 5 s
  ASSERT_THAT(measured, IsOk());
  auto times = TimesOf(*measured);
  ASSERT_TRUE(times.contains("s"));
  EXPECT_EQ(times["s"].sample_count(), 8);  // slices of three runs, 60 ms, from 0.54 s on
  EXPECT_TRUE(times["s"].stable());
  EXPECT_EQ(measured->calibration.coverage_ratio(), 1);
}

}  // namespace
}  // namespace sextant
