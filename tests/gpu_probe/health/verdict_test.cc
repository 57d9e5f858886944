// Whole fleets: who is compared with whom, and what is said of whom.
#include "gpu_probe/health/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/gpu_probe/health/synthetic.h"

namespace sextant::probe {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

auto Is(HealthStatus status, const std::string& rule, const std::string& figure) {
  return AllOf(Field(&Finding::status, status), Field(&Finding::rule, rule),
               Field(&Finding::figure, figure));
}

std::vector<v1::Calibration> CalibrationsOf(const std::vector<SyntheticGpu>& gpus) {
  std::vector<v1::Calibration> out;
  for (const SyntheticGpu& gpu : gpus) out.push_back(CalibrationOf(gpu));
  return out;
}

TEST(VerdictTest, EqualDevicesAreOk) {
  const std::vector<DeviceVerdict> verdicts = VerdictsOver(Node());
  ASSERT_EQ(verdicts.size(), 8u);
  EXPECT_THAT(verdicts, Each(AllOf(Field(&DeviceVerdict::status, HealthStatus::kOk),
                                   Field(&DeviceVerdict::findings, IsEmpty()),
                                   Field(&DeviceVerdict::peer_count, 7))));
  EXPECT_THAT(verdicts[0].notes, Contains(HasSubstr("No earlier measurement")));
}

TEST(VerdictTest, AFindingNamesAllThatIsToBeKnown) {
  std::vector<SyntheticGpu> gpus = Node();
  gpus[5].speeds[kFp8] = 0.9;
  const std::vector<DeviceVerdict> verdicts = VerdictsOver(gpus, kAtOnce);
  ASSERT_EQ(verdicts[5].findings.size(), 1u);
  const Finding& finding = verdicts[5].findings[0];
  EXPECT_THAT(finding, Is(HealthStatus::kCritical, "peers", "matmul fp8_e4m3"));
  EXPECT_EQ(finding.unit, "FLOP/s");
  EXPECT_THAT(finding.value, DoubleNear(0.9 * 1400e12, 1));
  EXPECT_THAT(finding.reference, DoubleNear(1400e12, 1));
  EXPECT_THAT(finding.ratio, DoubleNear(0.9, 1e-9));
  EXPECT_THAT(finding.message, HasSubstr("1.260 PFLOP/s is 10.0 % below 1.400 PFLOP/s, the "
                                         "median of 7 peers"));
  EXPECT_EQ(verdicts[4].status, HealthStatus::kOk);
}

// Four H100 and four H200, and four H100 with less power: each as fast as its own kind.
TEST(VerdictTest, ProductsAndPowerLimitsAreNotMixed) {
  std::vector<SyntheticGpu> gpus = Node();
  for (size_t i = 0; i < 4; ++i) {
    gpus[i].product_name = "NVIDIA H200";
    gpus[i].speeds[kCopy] = 1.4;
    gpus.push_back(gpus[7]);
    gpus.back().uuid = absl::StrCat("GPU-1", i);
    gpus.back().power_limit_watts = 500;
    gpus.back().speeds = Everywhere(0.8);
  }
  EXPECT_THAT(VerdictsOver(gpus), Each(AllOf(Field(&DeviceVerdict::status, HealthStatus::kOk),
                                             Field(&DeviceVerdict::peer_count, 3))));
  // One of the weak ones is slow for its kind, though no slower than others are in theirs.
  gpus.back().speeds = Everywhere(0.72);
  EXPECT_EQ(VerdictsOver(gpus, kAtOnce)[5].status, HealthStatus::kCritical) << "GPU-13, by name";
}

TEST(VerdictTest, ANewPowerLimitForAllIsNoFault) {
  std::vector<SyntheticGpu> all;
  for (SyntheticGpu gpu : Node()) {
    gpu.power_limit_watts = 700;
    for (SyntheticGpu& before : WithHistory(gpu, Everywhere(1), 5)) all.push_back(before);
    all.back().power_limit_watts = 500;
    all.back().speeds = Everywhere(0.8);
  }
  const std::vector<DeviceVerdict> verdicts = VerdictsOver(all);
  EXPECT_THAT(verdicts, Each(Field(&DeviceVerdict::status, HealthStatus::kOk)));
  EXPECT_THAT(verdicts[0].notes, Contains(HasSubstr("5 earlier measurements of it at another")));
}

// Where the device reports no cap, a drop of all devices alike is mentioned, and is not the
// device's fault.
TEST(VerdictTest, AllSlowerThanTheyWereIsAWarning) {
  std::vector<SyntheticGpu> all;
  for (SyntheticGpu gpu : Node()) {
    gpu.power_limit_watts = 0;
    gpu.speeds = Everywhere(0.8);
    for (SyntheticGpu& before : WithHistory(gpu, Everywhere(1), 5)) all.push_back(before);
  }
  const std::vector<DeviceVerdict> verdicts = VerdictsOver(all);
  EXPECT_THAT(verdicts, Each(Field(&DeviceVerdict::status, HealthStatus::kWarning)));
  EXPECT_THAT(verdicts[0].findings[0].message, HasSubstr("7 peers are as slow"));
}

TEST(VerdictTest, OneWithAnotherPowerLimitHasNobodyToCompareWith) {
  std::vector<SyntheticGpu> gpus = Node();
  gpus[2].power_limit_watts = 500;
  const DeviceVerdict verdict = VerdictsOver(gpus)[2];
  EXPECT_EQ(verdict.status, HealthStatus::kUnknown);
  EXPECT_THAT(verdict.findings, ElementsAre(Is(HealthStatus::kUnknown, "reference", "")));
  EXPECT_THAT(verdict.notes, Contains(HasSubstr("7 devices of its product at another power")));
}

TEST(VerdictTest, SlowerThanItWas) {
  SyntheticGpu gpu;
  gpu.speeds[kTriad] = 0.94;
  const DeviceVerdict verdict = VerdictsOver(WithHistory(gpu, Everywhere(1), 5), kAtOnce)[0];
  EXPECT_THAT(verdict.findings, ElementsAre(Is(HealthStatus::kCritical, "history", "triad")));
  EXPECT_EQ(verdict.history_count, 5);
  gpu.speeds[kTriad] = 0.96;
  EXPECT_EQ(VerdictsOver(WithHistory(gpu, Everywhere(1), 5))[0].status, HealthStatus::kOk);
}

TEST(VerdictTest, AShortHistoryIsSaidToBe) {
  const DeviceVerdict verdict = VerdictsOver(WithHistory({}, Everywhere(1), 2))[0];
  EXPECT_EQ(verdict.status, HealthStatus::kOk);
  EXPECT_THAT(verdict.notes, Contains(HasSubstr("2 of 5")));
  EXPECT_THAT(verdict.notes, Contains(HasSubstr("0 peers")));
}

TEST(VerdictTest, MeasuredOnceAndAloneIsNotOkNorIsTheSameMeasurementTwice) {
  for (const size_t count : {1, 2}) {
    EXPECT_EQ(VerdictsOver(std::vector<SyntheticGpu>(count))[0].status, HealthStatus::kUnknown);
  }
}

TEST(VerdictTest, FewerThanThreePeersDontCount) {
  std::vector<SyntheticGpu> gpus = Node();
  gpus.resize(3);
  gpus[0].speeds = Everywhere(0.5);
  for (const DeviceVerdict& verdict : VerdictsOver(gpus)) {
    EXPECT_EQ(verdict.status, HealthStatus::kUnknown) << "nor is it OK";
    EXPECT_THAT(verdict.notes, Contains(HasSubstr("2 peers of the same product")));
  }
}

TEST(VerdictTest, AboveTheLimitNothingElseIsBelieved) {
  std::vector<SyntheticGpu> gpus = Node();
  gpus[1].speeds = Everywhere(0.5);
  std::vector<v1::Calibration> calibrations = CalibrationsOf(gpus);
  calibrations[1].mutable_matmuls(0)->set_register_ratio(1.03);
  const std::vector<DeviceVerdict> verdicts = VerdictsOver(calibrations);
  EXPECT_EQ(verdicts[1].status, HealthStatus::kUnknown);
  EXPECT_THAT(verdicts[1].findings,
              ElementsAre(Is(HealthStatus::kUnknown, "limit", "matmul bf16")));
  EXPECT_EQ(verdicts[0].peer_count, 6) << "nor is it anybody's peer";
}

TEST(VerdictTest, ALostTypeIsAFault) {
  std::vector<v1::Calibration> calibrations = CalibrationsOf(Node());
  calibrations[6] = Without(v1::DATA_TYPE_FP8_E4M3, calibrations[6]);
  const DeviceVerdict lost = VerdictsOver(calibrations)[6];
  EXPECT_THAT(lost.findings,
              ElementsAre(Is(HealthStatus::kCritical, "missing", "matmul fp8_e4m3")));
  calibrations[6].set_coverage_ratio(0.8);
  const DeviceVerdict cut = VerdictsOver(calibrations)[6];
  EXPECT_THAT(cut.findings, ElementsAre(Is(HealthStatus::kUnknown, "missing", "matmul fp8_e4m3")));
  EXPECT_THAT(cut.notes, Contains(HasSubstr("80.0 %")));
}

TEST(VerdictTest, ATypeThatWasThereBeforeIsMissed) {
  std::vector<v1::Calibration> times = CalibrationsOf(WithHistory({}, Everywhere(1), 3));
  times.back() = Without(v1::DATA_TYPE_TF32, times.back());
  EXPECT_THAT(VerdictsOver(times)[0].findings,
              ElementsAre(Is(HealthStatus::kCritical, "missing", "matmul tf32")));
}

// A quick run has no sustained rates, no triad and one shape a type: that is not a loss.
TEST(VerdictTest, AQuickRunIsComparedInWhatItHas) {
  SyntheticGpu gpu;
  gpu.mode = v1::PROBE_MODE_QUICK;
  std::vector<SyntheticGpu> times = WithHistory(gpu, Everywhere(1), 5);
  for (size_t i = 0; i < 5; ++i) times[i].mode = v1::PROBE_MODE_FULL;
  EXPECT_EQ(VerdictsOver(times)[0].status, HealthStatus::kOk);
  times.back().speeds[kCopy] = 0.9;
  EXPECT_THAT(VerdictsOver(times, kAtOnce)[0].findings,
              ElementsAre(Is(HealthStatus::kCritical, "history", "copy")));
}

TEST(VerdictTest, AnotherLibraryIsNoMeasureOfTheDevice) {
  std::vector<v1::Calibration> times = CalibrationsOf(WithHistory({}, Everywhere(1), 3));
  for (v1::MatmulMeasurement& m : *times.back().mutable_matmuls()) {
    m.set_flops_per_second(m.flops_per_second() / 3);
    m.set_engine("builtin");
  }
  const DeviceVerdict verdict = VerdictsOver(times)[0];
  EXPECT_EQ(verdict.status, HealthStatus::kWarning);
  EXPECT_THAT(verdict.findings, Contains(Is(HealthStatus::kWarning, "comparable", "matmul bf16")));
  EXPECT_THAT(verdict.findings, Each(Field(&Finding::rule, "comparable")));
}

TEST(VerdictTest, OldMeasurementsWarn) {
  std::vector<SyntheticGpu> gpus = Node();
  gpus[0].unix_seconds = kNow - 8 * kDay;
  const std::vector<DeviceVerdict> verdicts = VerdictsOver(gpus);
  EXPECT_THAT(verdicts[0].findings, ElementsAre(Is(HealthStatus::kWarning, "age", "")));
  EXPECT_EQ(verdicts[1].peer_count, 6) << "and don't say how fast a device is today";
  EXPECT_EQ(VerdictsOver(gpus, {.max_age_seconds = 9.0 * kDay})[0].status, HealthStatus::kOk);
}

TEST(VerdictTest, UnstableFiguresHaveToBeFurtherBehind) {
  SyntheticGpu gpu;
  gpu.speeds[kCopy] = 0.92;
  gpu.stable = false;
  gpu.half_range = 0.02;
  std::vector<SyntheticGpu> times = WithHistory(gpu, Everywhere(1), 5);
  EXPECT_EQ(VerdictsOver(times)[0].status, HealthStatus::kOk);  // 8 % < 5 + 2 + 2
  times.back().speeds[kCopy] = 0.90;
  const DeviceVerdict verdict = VerdictsOver(times, kAtOnce)[0];
  EXPECT_THAT(verdict.findings, ElementsAre(Is(HealthStatus::kWarning, "history", "copy")));
  EXPECT_THAT(verdict.findings[0].message, HasSubstr("not stable, so that this may be noise"));
  EXPECT_THAT(verdict.notes, Contains(HasSubstr("8 of 8 figures are not stable")));
}

// All so noisy that nothing can be said is not health.
TEST(VerdictTest, NothingButNoiseIsUnknown) {
  SyntheticGpu gpu;
  gpu.stable = false;
  gpu.half_range = 0.2;
  const DeviceVerdict verdict = VerdictsOver(WithHistory(gpu, Everywhere(1), 5))[0];
  EXPECT_THAT(verdict.findings, ElementsAre(Is(HealthStatus::kUnknown, "reference", "")));
}

}  // namespace
}  // namespace sextant::probe
