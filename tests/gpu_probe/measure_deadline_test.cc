#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu_probe/measure.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/gpu_probe/scripted.h"

namespace sextant::probe {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

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
  const auto measured = Run(2).value();  // 40 runs, for warm-ups and 90 samples
  EXPECT_EQ(measured.calibration.coverage_ratio(), 1);
  for (const auto& [label, time] : TimesOf(measured)) {
    EXPECT_THAT(time.sample_count(), AllOf(Ge(2), Le(4))) << label;
    EXPECT_FALSE(time.stable()) << label;
  }
}

// Grids make do with what time is left, a type each; a chain that is there half is of no use.
TEST_F(MeasureTest, WhatIsVisitedOnceAndEachGridGetTheirShare) {
  for (const std::string phase : {"grid a", "grid b", "chain"}) {
    for (int i = 0; i < (phase == "chain" ? 2 : 20); ++i) {
      Add(phase, absl::StrCat(phase, i), 20e-3).make_seconds = 20e-3;
      last().pass_count = phase == "chain" ? 1 : 3;
    }
  }
  const auto measured = Run(2).value();  // the grids alone would take 30 s
  std::map<std::string, int> counts;
  for (const auto& [label, time] : TimesOf(measured)) ++counts[label.substr(0, 6)];
  EXPECT_EQ(counts["chain0"] + counts["chain1"], 2);
  EXPECT_GE(counts["grid a"], 6);
  EXPECT_GE(counts["grid b"], 6);
  EXPECT_THAT(measured.calibration.notes(),
              Contains(AllOf(HasSubstr("missing are"), HasSubstr(" of grid a, "),
                             HasSubstr(" of grid b."))));
}

TEST_F(MeasureTest, SlowPointsDoNotStarveFastOnes) {
  for (int i = 0; i < 4; ++i) {
    Add("grid", absl::StrCat("slow", i), 0.2);
    Add("grid", absl::StrCat("fast", i), 2e-3);
  }
  const auto measured = Run(3).value();
  auto times = TimesOf(measured);
  for (int i = 0; i < 4; ++i) {
    EXPECT_GE(times[absl::StrCat("slow", i)].sample_count(), 1);
    EXPECT_GE(times[absl::StrCat("fast", i)].sample_count(), 8);
  }
}

TEST_F(MeasureTest, AFirstPointThatIsSlowToMakeStillGetsItsSamples) {
  Add("stream", "first", 20e-3).make_seconds = 1;
  last().first = true;
  for (int i = 0; i < 50; ++i) Add("grid", absl::StrCat("p", i), 20e-3);
  const auto measured = Run(5).value();
  EXPECT_TRUE(TimesOf(measured)["first"].stable());
  EXPECT_EQ(measured.calibration.coverage_ratio(), 1);
}

// Seven kinds of 100 ms each to make, in two seconds: each gets samples, none takes the time of
// those after it.
TEST_F(MeasureTest, FirstPointsLeaveTimeToMakeTheOthers) {
  for (int i = 0; i < 7; ++i) {
    Add(absl::StrCat("kind", i), absl::StrCat("p", i), 0).run_seconds = [](int64_t call, double) {
      return call % 2 == 0 ? 25e-3 : 30e-3;  // never narrow: it takes what it gets
    };
    last().first = true;
    scripts_.back().make_seconds = 0.1;
  }
  EXPECT_EQ(Run(2).value().calibration.coverage_ratio(), 1);
}

// A point that took long to make is not begun again where it can't end in time; others are.
TEST_F(MeasureTest, WhatIsTooSlowToMakeIsLeftToOthers) {
  Add("memory", "m1", 1e-3).make_seconds = 1;
  last().first = true;
  Add("other", "o1", 1e-3);
  last().first = true;  // the last one: what m1 made is gone when m2 would need it
  Script& slow = Add("memory", "m2", 1e-3);
  slow.make_seconds = 1;
  Script& fast = Add("other", "o2", 1e-3);
  const auto measured = Run(1.5).value();
  EXPECT_EQ(slow.make_count, 0);
  EXPECT_EQ(fast.make_count, 1);
  EXPECT_LE(elapsed_seconds(), 1.5);
}

// Phases of levels 1 and 2, each point 0.1 s to prepare as the plan assumes.
class MeasureLevelsTest : public MeasureTest {
 protected:
  void AddLevel(int level, int count, int fewest_useful) {
    for (int i = 0; i < count; ++i) {
      Add(absl::StrCat("level ", level), absl::StrCat(level, ".", i), 1e-3).make_seconds = 0.1;
      last().level = level;
      last().fewest_useful = fewest_useful;
      last().useless_alone = fewest_useful > 1;
      last().assumed_preparation_seconds = 0.1;
    }
  }
  std::map<std::string, int> CountsOf(const Measurement& measurement) {
    std::map<std::string, int> counts;
    for (const auto& [label, time] : TimesOf(measurement)) ++counts[label.substr(0, 1)];
    return counts;
  }
};

TEST_F(MeasureLevelsTest, LaterLevelsGetWhatTheFewestOfThemNeed) {
  AddLevel(1, 30, 1);
  AddLevel(2, 20, 8);
  const auto measured = Run(3).value();  // enough for about 26
  EXPECT_THAT(CountsOf(measured)["1"], AllOf(Ge(14), Le(20)));
  EXPECT_THAT(CountsOf(measured)["2"], AllOf(Ge(8), Le(12)));
}

TEST_F(MeasureLevelsTest, WhatCanNotBeOfUseIsNotBegun) {
  AddLevel(1, 10, 1);
  AddLevel(2, 20, 18);
  const auto measured = Run(2.5).value();
  EXPECT_EQ(CountsOf(measured)["1"], 10);
  EXPECT_EQ(scripts_[10].make_count, 0);
  ASSERT_EQ(measured.calibration.missing_size(), 1);
  EXPECT_EQ(measured.calibration.missing(0).phase(), "level 2");
  EXPECT_EQ(measured.calibration.missing(0).missing_count(), 20);
  EXPECT_EQ(measured.calibration.missing(0).planned_count(), 20);
}

// The first takes as long as was assumed, the others ten times that.
TEST_F(MeasureLevelsTest, TooFewToBeOfUseAreNotRecorded) {
  AddLevel(1, 8, 8);
  for (size_t i = 1; i < 8; ++i) scripts_[i].make_seconds = 1;
  const auto measured = Run(3).value();
  EXPECT_EQ(measured.calibration.matmuls_size(), 0);
  EXPECT_LE(elapsed_seconds(), 3.1);
  EXPECT_THAT(measured.calibration.notes(), Contains(HasSubstr("level 1 were measured that they")));
  ASSERT_EQ(measured.calibration.missing_size(), 1);
  EXPECT_EQ(measured.calibration.missing(0).missing_count(), 8) << "those that were measured too";
  EXPECT_EQ(measured.calibration.coverage_ratio(), 0);
}

TEST_F(MeasureLevelsTest, WhatHasNoMemoryIsMissingAndWhatTheDeviceCanNotDoIsNot) {
  AddLevel(1, 4, 1);
  scripts_[1].make_status = absl::ResourceExhaustedError("too large");
  scripts_[2].make_status = absl::UnimplementedError("no such kernel");
  const auto measured = Run(3).value();
  EXPECT_DOUBLE_EQ(measured.calibration.coverage_ratio(), 2.0 / 3);
  ASSERT_EQ(measured.calibration.missing_size(), 1);
  EXPECT_EQ(measured.calibration.missing(0).missing_count(), 1);
  EXPECT_EQ(measured.calibration.missing(0).planned_count(), 3);
  for (const std::string& note : measured.calibration.notes()) {
    EXPECT_THAT(note, ::testing::Not(HasSubstr("budget"))) << "time there was";
  }
}

TEST_F(MeasureLevelsTest, TimeThatIsLeftGoesToWhatEarlierLevelsDidNotGet) {
  AddLevel(1, 10, 1);
  AddLevel(2, 10, 10);
  for (size_t i = 10; i < 20; ++i) scripts_[i].make_seconds = 1e-3;  // a hundredth of what was kept
  // 1.23 s are kept for level 2, and 1.03 needed for level 1.
  const auto measured = Run(2.25).value();
  EXPECT_EQ(measured.calibration.coverage_ratio(), 1);
}

TEST_F(MeasureTest, TheEndIsKeptFromTheBudget) {
  for (int i = 0; i < 100; ++i) Add("grid", absl::StrCat("p", i), 20e-3);
  const auto measured = Measure(
      plan_, {.start_seconds = clock_.NowSeconds(), .budget_seconds = 2, .ending_seconds = 0.5},
      clock_, [](const v1::ProbeProgress&) { return true; });
  ASSERT_THAT(measured, IsOk());
  EXPECT_THAT(measured->calibration.duration_seconds(), AllOf(Ge(1.4), Le(1.55)));
}

TEST_F(MeasureTest, AMachineThatSlowsTenfoldHalfWayStillEnds) {
  for (int i = 0; i < 8; ++i) {
    Add("grid", absl::StrCat("p", i), 0).run_seconds = [this](int64_t, double now_seconds) {
      return now_seconds - start_seconds_ < 1 ? 10e-3 : 100e-3;
    };
    last().pass_count = 3;
  }
  const auto measured = Run(2).value();
  // Work in progress at the slowdown, and each first run after it, may take the 90 ms more.
  EXPECT_LE(elapsed_seconds(), 2.2);
  EXPECT_EQ(measured.calibration.coverage_ratio(), 1);
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
  EXPECT_THAT(Run(2), FailsSaying(absl::StatusCode::kDeadlineExceeded, "b1"));
}

TEST_F(MeasureTest, AShapeThatCannotEndIsRefusedBeforeItRuns) {
  all_essential_ = true;
  // Half as fast at first: the best is what counts.
  Add("registers", "fp32 registers", 0).run_seconds = [](int64_t call, double) {
    return call < 4 ? 20e-3 : 10e-3;
  };
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
  EXPECT_THAT(Run(65), Says("no --budget up to 3600s"));
}

TEST_F(MeasureTest, EachShapeThatWasAskedForIsEssential) {
  all_essential_ = true;
  Add("matmul", "small", 1e-3);
  Add("matmul", "large", 3);
  last().work = 1;  // the small one's rate says nothing of it
  EXPECT_EQ(Run(5).status().code(), absl::StatusCode::kDeadlineExceeded);
}

TEST_F(MeasureTest, SustainedPointsGetTheirTime) {
  for (int i = 0; i < 20; ++i) Add("grid", absl::StrCat("p", i), 20e-3);
  Add("sustained", "s", 21e-3);
  last().sustained_seconds = 1;
  const auto measured = Run(3).value();  // the grid alone would take 5 s
  auto times = TimesOf(measured);
  ASSERT_TRUE(times.contains("s"));
  EXPECT_EQ(times["s"].sample_count(), 12);  // slices of two runs, 42 ms, from 0.504 s on
  EXPECT_TRUE(times["s"].stable());
  EXPECT_EQ(measured.calibration.coverage_ratio(), 1);
}

}  // namespace
}  // namespace sextant::probe
