// Which of the calibrations of a device is in use, and how old it is.
#include "server/store/calibration_snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "tests/server/fake_probe.h"
#include "tests/server/sample_calibration.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;

constexpr int kQuick = 1;
constexpr int kStandard = 2;
constexpr int kFull = 3;
constexpr int kHoursOf30Days = 720;

struct Candidate {
  int thoroughness = kStandard;
  int age_hours = 0;
  bool stable = true;
  double coverage_ratio = 1;
  std::string driver_version = "580.65.06";
  absl::optional<double> power_limit_watts = 700;
};

const absl::Time kChoiceTime = absl::FromUnixSeconds(1'800'000'000);
const DeviceState kPresentState = {.driver_version = "580.65.06", .power_limit_watts = 700};

CalibrationFacts FactsOf(const Candidate& c) {
  return {.thoroughness = c.thoroughness,
          .coverage_ratio = c.coverage_ratio,
          .stable = c.stable,
          .measured = kChoiceTime - absl::Hours(c.age_hours),
          .state = {.driver_version = c.driver_version, .power_limit_watts = c.power_limit_watts}};
}

struct ChoiceCase {
  const char* name;
  std::vector<Candidate> candidates;  // the first is to be chosen
  CalibrationMerit merit;             // why it is better than each other
};

std::vector<ChoiceCase> ChoiceCases() {
  using enum CalibrationMerit;
  return {
      {"full before a newer quick", {{.thoroughness = kFull, .age_hours = 48}, {kQuick}}, kFuller},
      {"standard before a newer quick", {{kStandard, 719}, {kQuick}}, kFuller},
      {"full before both", {{kFull, 9}, {kQuick, 1}, {kStandard, 5}}, kFuller},
      {"stable quick before unstable full",
       {{.thoroughness = kQuick, .age_hours = 9}, {.thoroughness = kFull, .stable = false}},
       kStable},
      {"of two unstable ones the fuller",
       {{.thoroughness = kStandard, .age_hours = 9, .stable = false},
        {.thoroughness = kQuick, .stable = false}},
       kFuller},
      {"within a mode the higher coverage",
       {{.age_hours = 9, .coverage_ratio = 0.9}, {.coverage_ratio = 0.3}},
       kFuller},
      {"mode before coverage",
       {{.thoroughness = kFull, .coverage_ratio = 0.5}, {.thoroughness = kStandard}},
       kFuller},
      {"stable before coverage",
       {{.coverage_ratio = 0.5}, {.stable = false, .coverage_ratio = 1}},
       kStable},
      {"of equals the newer", {{.age_hours = 1}, {.age_hours = 2}, {.age_hours = 3}}, kNewer},
      {"full of exactly 30 days", {{kFull, kHoursOf30Days}, {kQuick}}, kFuller},
      {"quick before a full one of more than 30 days",
       {{kQuick, 1}, {kFull, kHoursOf30Days + 1}},
       kFits},
      {"unstable quick of the present driver",
       {{.thoroughness = kQuick, .stable = false},
        {.thoroughness = kFull, .driver_version = "570.86.15"}},
       kFits},
      {"an unknown driver is another one",
       {{.thoroughness = kQuick}, {.thoroughness = kFull, .driver_version = ""}},
       kFits},
      {"of the present power limit",
       {{.thoroughness = kQuick, .age_hours = 99},
        {.thoroughness = kFull, .power_limit_watts = 500}},
       kFits},
      {"an unknown limit is another one",
       {{.thoroughness = kQuick}, {.thoroughness = kFull, .power_limit_watts = absl::nullopt}},
       kFits},
      {"limits that round differently are one",
       {{.thoroughness = kFull, .age_hours = 1, .power_limit_watts = 699}, {kQuick}},
       kFuller},
      {"of none that fits the newest",
       {{kQuick, kHoursOf30Days + 1, false}, {kFull, kHoursOf30Days + 2}},
       kNewer},
      {"of none that fits the newest, whatever the driver",
       {{.age_hours = 1, .driver_version = "570"},
        {.thoroughness = kFull, .age_hours = 2, .driver_version = "560"},
        {.thoroughness = kFull, .age_hours = kHoursOf30Days + 1}},
       kNewer},
      {"one alone, however old", {{kQuick, 99'999, false}}, kNewer},
      {"before one from the future: the clock was set back since",
       {{kQuick, 99}, {kFull, -1}},
       kFits},
  };
}

// For any order in which they are stored.
TEST(CalibrationChoice, IsTheSameRuleForAll) {
  const CalibrationDemand demand = {.state = kPresentState, .now = kChoiceTime};
  for (const ChoiceCase& c : ChoiceCases()) {
    std::vector<CalibrationFacts> facts;
    for (const Candidate& candidate : c.candidates) facts.push_back(FactsOf(candidate));
    std::vector<size_t> order(facts.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    do {
      std::vector<const CalibrationFacts*> all;
      for (const size_t i : order) all.push_back(&facts[i]);
      EXPECT_EQ(all[ChooseCalibration(all, demand)], &facts[0]) << c.name;
    } while (std::next_permutation(order.begin(), order.end()));
    for (size_t i = 1; i < facts.size(); ++i) {
      EXPECT_EQ(Prefer(facts[0], facts[i], demand).merit, c.merit) << c.name;
      EXPECT_TRUE(Prefer(facts[0], facts[i], demand).first) << c.name;
      EXPECT_FALSE(Prefer(facts[i], facts[0], demand).first) << c.name;
    }
  }
}

TEST(CalibrationChoice, TakesTheFirstOfTwoThatAreAlike) {
  const CalibrationDemand demand = {.state = kPresentState, .now = kChoiceTime};
  EXPECT_TRUE(Prefer(FactsOf({}), FactsOf({}), demand).first);
  const Candidate misfit = {.driver_version = "570"};
  EXPECT_TRUE(Prefer(FactsOf(misfit), FactsOf(misfit), demand).first);
  const Candidate fuller_misfit = {.thoroughness = kFull, .driver_version = "570"};
  EXPECT_FALSE(Prefer(FactsOf(misfit), FactsOf(fuller_misfit), demand).first);
}

// A caller who accepts nothing older than a day gets today's quick one.
TEST(CalibrationChoice, HeedsAShorterAge) {
  const CalibrationFacts full = FactsOf({.thoroughness = kFull, .age_hours = 48});
  const CalibrationFacts quick = FactsOf({.thoroughness = kQuick, .age_hours = 2});
  CalibrationDemand demand = {.state = kPresentState, .now = kChoiceTime};
  EXPECT_TRUE(Prefer(full, quick, demand).first);
  demand.maximum_age = absl::Hours(24);
  EXPECT_FALSE(Prefer(full, quick, demand).first);
}

TEST(CalibrationChoice, OfAProcessorWhichTellsNeitherDriverNorLimit) {
  const Candidate full = {.thoroughness = kFull,
                          .age_hours = 1,
                          .driver_version = "",
                          .power_limit_watts = absl::nullopt};
  const Candidate quick = {
      .thoroughness = kQuick, .driver_version = "", .power_limit_watts = absl::nullopt};
  EXPECT_TRUE(Prefer(FactsOf(full), FactsOf(quick), {.state = {}, .now = kChoiceTime}).first);
}

TEST(DeviceState, IsTheSameWithinAWatt) {
  const auto limited = [](absl::optional<double> watts) {
    return DeviceState{.driver_version = "580", .power_limit_watts = watts};
  };
  EXPECT_TRUE(IsSameState(limited(700), limited(699)));
  EXPECT_FALSE(IsSameState(limited(700), limited(698.9)));
  EXPECT_FALSE(IsSameState(limited(700), limited(absl::nullopt)));
  EXPECT_FALSE(IsSameState(limited(absl::nullopt), limited(0.5)));
  EXPECT_TRUE(IsSameState(limited(absl::nullopt), limited(absl::nullopt)));
  EXPECT_FALSE(IsSameState(limited(700), {.power_limit_watts = 700}));
}

v1::MatmulMeasurement* AddMatmul(v1::DataType type, bool stable, v1::Calibration& out) {
  v1::MatmulMeasurement* const matmul = out.add_matmuls();
  matmul->set_data_type(type);
  matmul->set_flops_per_second(1e12);
  matmul->mutable_time()->set_stable(stable);
  return matmul;
}

v1::StreamMeasurement* AddCopy(bool stable, v1::Calibration& out) {
  v1::StreamMeasurement* const copy = out.add_streams();
  copy->set_operation(v1::StreamMeasurement::OPERATION_COPY);
  copy->set_main_memory(true);
  copy->set_bytes_per_second(1e11);
  copy->mutable_time()->set_stable(stable);
  return copy;
}

// The rates that plans take decide: bf16, fp8, and the copy.
bool IsStable(const v1::Calibration& calibration) { return StoredFrom(calibration)->facts.stable; }

TEST(IsStable, LooksAtWhatPlansStandOn) {
  v1::Calibration calibration;
  EXPECT_FALSE(IsStable(calibration));
  AddMatmul(v1::DATA_TYPE_BF16, true, calibration);
  EXPECT_FALSE(IsStable(calibration)) << "without a copy";
  AddCopy(true, calibration);
  EXPECT_TRUE(IsStable(calibration));
  AddMatmul(v1::DATA_TYPE_FP32, false, calibration);
  AddMatmul(v1::DATA_TYPE_FP64, false, calibration);
  AddMatmul(v1::DATA_TYPE_BF16, false, calibration);
  EXPECT_TRUE(IsStable(calibration)) << "another point of bf16 is not the one that plans take";
  v1::MatmulMeasurement* const fp8 = AddMatmul(v1::DATA_TYPE_FP8_E4M3, false, calibration);
  EXPECT_FALSE(IsStable(calibration));
  fp8->mutable_time()->set_stable(true);
  EXPECT_TRUE(IsStable(calibration));
  AddMatmul(v1::DATA_TYPE_BF16, false, calibration)->set_flops_per_second(2e12);
  EXPECT_FALSE(IsStable(calibration)) << "plans take the one that is twice as fast";
}

TEST(IsStable, LooksAtTheCopyThroughMainMemory) {
  v1::Calibration calibration;
  AddMatmul(v1::DATA_TYPE_BF16, true, calibration);
  v1::StreamMeasurement* const copy = AddCopy(false, calibration);
  EXPECT_FALSE(IsStable(calibration));
  AddCopy(true, calibration)->set_main_memory(false);
  AddCopy(true, calibration)->set_operation(v1::StreamMeasurement::OPERATION_TRIAD);
  EXPECT_FALSE(IsStable(calibration));
  copy->mutable_time()->set_stable(true);
  EXPECT_TRUE(IsStable(calibration));
}

// A V100 has no bf16, most processors neither.
TEST(IsStable, OfADeviceWithoutBf16) {
  for (const v1::DataType type : {v1::DATA_TYPE_FP16, v1::DATA_TYPE_FP32}) {
    v1::Calibration calibration;
    AddCopy(true, calibration);
    v1::MatmulMeasurement* const matmul = AddMatmul(type, true, calibration);
    AddMatmul(v1::DATA_TYPE_INT8, false, calibration);
    EXPECT_TRUE(IsStable(calibration)) << type;
    matmul->mutable_time()->set_stable(false);
    EXPECT_FALSE(IsStable(calibration)) << type;
  }
  EXPECT_TRUE(IsStable(FakeCalibration()));
}

TEST(CalibrationAge, IsNegativeOfTheFuture) {
  const std::chrono::system_clock::time_point now(std::chrono::seconds(1'000));
  v1::Calibration calibration;
  calibration.mutable_measured_time()->set_seconds(990);
  calibration.mutable_measured_time()->set_nanos(500'000'000);
  EXPECT_DOUBLE_EQ(MeasuredUnixSeconds(calibration), 990.5);
  EXPECT_DOUBLE_EQ(CalibrationAgeSeconds(calibration, now), 9.5);
  // The host's clock was set back, or another's was ahead.
  calibration.mutable_measured_time()->set_seconds(2'000);
  EXPECT_DOUBLE_EQ(CalibrationAgeSeconds(calibration, now), -1000.5);
}

constexpr int64_t kSampleSeconds = 1'769'860'800;  // SampleCalibration()'s

// Each device contributes the model of its calibration in use; distrusted devices none.
TEST(TrustedModels, AreThoseInUse) {
  v1::Calibration full = SampleCalibration("GPU-1");
  full.set_mode(v1::PROBE_MODE_FULL);
  v1::Calibration quick = full;
  quick.set_mode(v1::PROBE_MODE_QUICK);
  quick.mutable_measured_time()->set_seconds(kSampleSeconds + 7200);
  const v1::Calibration wrong = SampleCalibration("GPU-2");
  const auto stored_full = StoredFrom(full);
  const auto stored_quick = StoredFrom(quick);
  CalibrationSnapshot snapshot;
  snapshot.calibrations.push_back(
      {.device = full.device(), .by_mode = {stored_full, stored_quick}});
  snapshot.calibrations.push_back({.device = wrong.device(), .by_mode = {StoredFrom(wrong)}});
  snapshot.distrusted.insert("GPU-2");
  const absl::Time now = absl::FromUnixSeconds(kSampleSeconds + 9000);
  EXPECT_THAT(snapshot.TrustedModels({.now = now}), ElementsAre(stored_full->model.get()));
  // A request that accepts nothing older than an hour can use it.
  EXPECT_THAT(snapshot.TrustedModels({.now = now, .maximum_age = absl::Hours(1)}),
              ElementsAre(stored_quick->model.get()));
}

// A second counts where it starts no earlier than the limit.
TEST(CalibrationQuery, KnowsTheOldestSecond) {
  CalibrationQuery query = {.now = absl::FromUnixSeconds(1000)};
  EXPECT_EQ(query.OldestUnixSeconds(), absl::nullopt);
  query.maximum_age = absl::Seconds(10);
  EXPECT_THAT(query.OldestUnixSeconds(), Eq(990));
  query.maximum_age = absl::Milliseconds(9500);
  EXPECT_THAT(query.OldestUnixSeconds(), Eq(991));
}

}  // namespace
}  // namespace sextant::server
