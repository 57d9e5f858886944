// A slow figure is CRITICAL by a sure reference and a second slow measurement.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_probe/health/verdict.h"
#include "tests/gpu_probe/health/synthetic.h"

namespace sextant::probe {
namespace {

using ::testing::Each;
using ::testing::Field;
using ::testing::HasSubstr;

constexpr auto kWarning = HealthStatus::kWarning;
constexpr auto kCritical = HealthStatus::kCritical;

// One GPU whose copies had `speeds`, in order of time.
std::vector<SyntheticGpu> Copies(const std::vector<double>& speeds) {
  std::vector<SyntheticGpu> times =
      WithHistory({}, Everywhere(1), static_cast<int>(speeds.size()) - 1);
  for (size_t i = 0; i < speeds.size(); ++i) times[i].speeds[kCopy] = speeds[i];
  return times;
}

DeviceVerdict VerdictOn(const std::vector<double>& copies, const HealthLimits& limits = {}) {
  return VerdictsOver(Copies(copies), limits)[0];
}

// The history of adoption: one quick run on an idle host, and one on a busy one.
TEST(SureTest, AHistoryOfOneProvesNothing) {
  const DeviceVerdict verdict = VerdictOn({1, 0.454}, kAtOnce);
  EXPECT_EQ(verdict.status, kWarning);
  EXPECT_THAT(verdict.findings[0].message,
              HasSubstr("54.6 % below 3.000 TB/s, the median of its last 1; a history of fewer "
                        "than 5 proves nothing"));
}

TEST(SureTest, AHistoryIsSureFromFiveOn) {
  EXPECT_EQ(VerdictOn({1, 1, 1, 1, 0.5}, kAtOnce).status, kWarning);
  EXPECT_EQ(VerdictOn({1, 1, 1, 1, 1, 0.5}, kAtOnce).status, kCritical);
}

TEST(SureTest, AnUnstableFigureIsAWarningHoweverSlow) {
  for (const size_t unstable : {0, 5}) {
    std::vector<SyntheticGpu> times = Copies({1, 1, 1, 1, 1, 0.5});
    // The judged one, or those that it is compared with.
    for (size_t i = unstable; i <= (unstable == 0 ? 4 : 5); ++i) times[i].stable = false;
    const DeviceVerdict verdict = VerdictsOver(times, kAtOnce)[0];
    EXPECT_EQ(verdict.status, kWarning) << unstable;
    EXPECT_THAT(verdict.findings[0].message, HasSubstr("not stable")) << unstable;
    EXPECT_EQ(verdict.figures[kCopy].critical_below, 0) << unstable;
    EXPECT_GT(verdict.figures[kCopy].warning_below, 0) << unstable;
  }
}

// One sample is not stable, and has no range.
TEST(SureTest, NoRangeIsNotStability) {
  SyntheticGpu gpu;
  gpu.stable = false;
  gpu.half_range = 0;
  std::vector<SyntheticGpu> times = WithHistory(gpu, Everywhere(1), 5);
  times.back().speeds[kCopy] = 0.5;
  const DeviceVerdict verdict = VerdictsOver(times, kAtOnce)[0];
  EXPECT_EQ(verdict.status, kWarning);
  EXPECT_FALSE(verdict.figures[kCopy].stable);
  std::vector<SyntheticGpu> gpus = Node();
  gpus[0] = gpu;
  gpus[0].speeds = Everywhere(0.5);
  EXPECT_THAT(VerdictsOver(gpus, kAtOnce)[0].findings, Each(Field(&Finding::status, kWarning)));
}

// Three unstable peers of seven are outvoted, four are not.
TEST(SureTest, MostPeersHaveToBeStable) {
  std::vector<SyntheticGpu> gpus = Node();
  gpus[0].speeds = Everywhere(0.5);
  for (size_t i = 1; i <= 3; ++i) gpus[i].stable = false;
  EXPECT_EQ(VerdictsOver(gpus, kAtOnce)[0].status, kCritical);
  gpus[4].stable = false;
  EXPECT_EQ(VerdictsOver(gpus, kAtOnce)[0].status, kWarning);
}

TEST(SureTest, AnUnstableFigureAmongPeersIsAWarningAsAreAllTogether) {
  std::vector<SyntheticGpu> gpus = Node();
  gpus[0].speeds = Everywhere(0.5);
  EXPECT_THAT(VerdictsOver(gpus, kAtOnce)[0].findings, Each(Field(&Finding::status, kCritical)));
  gpus[0].stable = false;
  const DeviceVerdict verdict = VerdictsOver(gpus, kAtOnce)[0];
  EXPECT_EQ(verdict.findings.size(), kFigureCount + 1) << "each, and all figures";
  EXPECT_THAT(verdict.findings, Each(Field(&Finding::status, kWarning)));
}

// Five good ones and two slow: the second is CRITICAL. It is compared with the five, since the
// first slow one is not taken in.
TEST(InARowTest, TheSecondSlowMeasurementIsCritical) {
  const DeviceVerdict first = VerdictOn({1, 1, 1, 1, 1, 0.8});
  EXPECT_EQ(first.status, kWarning);
  EXPECT_THAT(first.findings[0].message,
              HasSubstr("20.0 % below 3.000 TB/s, the median of its last 5; slow in 1 measurement, "
                        "CRITICAL takes 2 in a row: measure again"));
  const DeviceVerdict second = VerdictOn({1, 1, 1, 1, 1, 0.8, 0.8});
  EXPECT_EQ(second.status, kCritical);
  EXPECT_THAT(second.findings[0].message, HasSubstr("; slow in 2 measurements in a row"));
  EXPECT_EQ(VerdictOn({1, 1, 1, 1, 1, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8}).status, kCritical)
      << "for ever: a slow device does not become its own norm";
}

TEST(InARowTest, AGoodMeasurementBetweenBreaksTheRow) {
  EXPECT_EQ(VerdictOn({1, 1, 1, 1, 1, 0.8, 1, 0.8}).status, kWarning);
  EXPECT_EQ(VerdictOn({1, 1, 1, 1, 1, 0.8, 0.8, 1}).status, HealthStatus::kOk);
}

// The first slow one is among the first five, which count as they are, and has four before it: so
// the third is the second that is sure.
TEST(InARowTest, EachOfTheRowHasToBeSure) {
  EXPECT_EQ(VerdictOn({1, 1, 1, 1, 0.8, 0.8}).status, kWarning);
  EXPECT_EQ(VerdictOn({1, 1, 1, 1, 0.8, 0.8, 0.8}).status, kCritical);
}

TEST(InARowTest, TheNumberIsTheSites) {
  EXPECT_EQ(VerdictOn({1, 1, 1, 1, 1, 0.8, 0.8}, {.in_a_row = 3}).status, kWarning);
  EXPECT_EQ(VerdictOn({1, 1, 1, 1, 1, 0.8, 0.8, 0.8}, {.in_a_row = 3}).status, kCritical);
}

TEST(InARowTest, TheSameMeasurementTwiceIsOne) {
  std::vector<SyntheticGpu> times = Copies({1, 1, 1, 1, 1, 0.8});
  times.push_back(times.back());
  EXPECT_EQ(VerdictsOver(times)[0].status, kWarning);
}

TEST(InARowTest, AnotherFigureBeforeIsNotARow) {
  std::vector<SyntheticGpu> times = Copies({1, 1, 1, 1, 1, 1, 0.8});
  times[5].speeds[kTriad] = 0.8;
  EXPECT_EQ(VerdictsOver(times)[0].status, kWarning);
}

// Full runs with quick ones between them: triad is in the full ones alone.
TEST(InARowTest, RunsWithoutTheFigureArePassedOver) {
  std::vector<SyntheticGpu> times = Copies({1, 1, 1, 1, 1, 1, 1, 1});
  for (const size_t slow : {5, 7}) times[slow].speeds[kTriad] = 0.8;
  times[6].mode = v1::PROBE_MODE_QUICK;
  EXPECT_EQ(VerdictsOver(times)[0].status, kCritical);
}

// A node measured twice, without a history of five: its peers are enough, twice.
std::vector<SyntheticGpu> NodeTwice(const std::vector<double>& before,
                                    const std::vector<double>& now) {
  std::vector<SyntheticGpu> all;
  std::vector<SyntheticGpu> gpus = Node();
  for (size_t i = 0; i < gpus.size(); ++i) {
    gpus[i].speeds = Everywhere(now[i]);
    for (const SyntheticGpu& time : WithHistory(gpus[i], Everywhere(before[i]), 1)) {
      all.push_back(time);
    }
  }
  return all;
}

TEST(InARowTest, PeersAreEnoughTwice) {
  const std::vector<double> good(8, 1);
  std::vector<double> slow = good;
  slow[2] = 0.9;
  EXPECT_EQ(VerdictsOver(NodeTwice(good, slow))[2].status, kWarning);
  EXPECT_EQ(VerdictsOver(NodeTwice(slow, good))[2].status, HealthStatus::kOk);
  const std::vector<DeviceVerdict> twice = VerdictsOver(NodeTwice(slow, slow));
  EXPECT_EQ(twice[2].status, kCritical);
  EXPECT_EQ(twice[1].status, HealthStatus::kOk);
}

// An earlier measurement is compared with the peers' of its own time: all were slow then.
TEST(InARowTest, PeersAreThoseOfTheTime) {
  const std::vector<double> all_slow(8, 0.9);
  std::vector<double> slow(8, 1);
  slow[2] = 0.9;
  EXPECT_EQ(VerdictsOver(NodeTwice(all_slow, slow))[2].status, kWarning);
}

// Nor are all of that time peers: by the rules of today's, these leave the first slow measurement
// without a reference.
TEST(InARowTest, PeersOfTheTimeKeepTheRules) {
  std::vector<double> slow(8, 1);
  slow[2] = 0.9;
  const std::vector<SyntheticGpu> twice = NodeTwice(slow, slow);
  std::vector<SyntheticGpu> unlike = twice;
  std::vector<SyntheticGpu> alone = twice;
  std::vector<v1::Calibration> wrong;
  for (size_t i = 0; i < twice.size(); ++i) {
    wrong.push_back(CalibrationOf(twice[i]));
    const bool earlier = i % 2 == 0;
    const bool judged = twice[i].uuid == "GPU-2";
    if (earlier && !judged) unlike[i].power_limit_watts = 500;
    if (earlier && judged) alone[i].unix_seconds -= 8 * kDay;
    if (earlier && !judged) wrong.back().mutable_matmuls(0)->set_register_ratio(1.03);
  }
  EXPECT_EQ(VerdictsOver(twice)[2].status, kCritical);
  EXPECT_EQ(VerdictsOver(unlike)[2].status, kWarning);
  EXPECT_EQ(VerdictsOver(alone)[2].status, kWarning);
  EXPECT_EQ(VerdictsOver(wrong)[2].status, kWarning);
}

// Facts, not rates: at once, and with no history at all.
TEST(InARowTest, WhatTheHardwareSaysIsCriticalAtOnce) {
  v1::Calibration calibration = CalibrationOf({});
  calibration.mutable_conditions()->set_reading_count(40);
  calibration.mutable_conditions()->set_hardware_throttle_ratio(0.025);
  EXPECT_EQ(VerdictsOver(std::vector<v1::Calibration>{calibration})[0].status, kCritical);
}

TEST(InARowTest, ALostTypeIsCriticalAtOnce) {
  SyntheticGpu before;
  before.unix_seconds -= kDay;
  EXPECT_EQ(VerdictsOver(std::vector<v1::Calibration>{
                CalibrationOf(before), Without(v1::DATA_TYPE_TF32, CalibrationOf({}))})[0]
                .status,
            kCritical);
}

}  // namespace
}  // namespace sextant::probe
