// A GPU's reported clock, power and heat in verdicts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gpu_probe/health/findings.h"
#include "gpu_probe/health/read_calibrations.h"
#include "gpu_probe/points/matmul.h"
#include "proto/matmul_kind.h"
#include "tests/gpu_probe/health/synthetic.h"
#include "tests/support/matmul_kinds.h"

namespace sextant::probe {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

struct Told {
  double megahertz = 0;
  double watts = 0;
};

v1::Calibration At(const Told& told, v1::Calibration calibration) {
  v1::OperatingConditions* const conditions = calibration.mutable_conditions();
  conditions->set_reading_count(40);
  conditions->set_sm_clock_hertz(told.megahertz * 1e6);
  conditions->set_power_watts(told.watts);
  return calibration;
}

// Eight GPUs at 1755 MHz and 700 W, the last one as `last` says.
std::vector<v1::Calibration> NodeWith(const SyntheticGpu& last, const Told& told) {
  std::vector<v1::Calibration> all;
  for (const SyntheticGpu& gpu : Node()) {
    all.push_back(At({.megahertz = 1755, .watts = 700}, CalibrationOf(gpu)));
  }
  all.back() = At(told, CalibrationOf(last));
  return all;
}

TEST(ConditionsTest, ALowClockExplainsASlowGpu) {
  SyntheticGpu slow = Node().back();
  slow.speeds = Everywhere(0.8);
  const std::vector<DeviceVerdict> verdicts =
      VerdictsOver(NodeWith(slow, {.megahertz = 1404, .watts = 490}), kAtOnce);
  ASSERT_EQ(verdicts.back().status, HealthStatus::kCritical);
  const auto explained = HasSubstr(
      "; its clock was 20.0 % below its peers', 1404 MHz against 1755 MHz; it drew 30.0 % less "
      "power than its peers, 490 W against 700 W");
  for (const Finding& finding : verdicts.back().findings) {
    if (finding.figure == "copy" || finding.figure == "triad" ||
        finding.figure == "elementwise bandwidth") {
      EXPECT_THAT(finding.message, Not(HasSubstr("clock"))) << finding.figure;
    } else {
      EXPECT_THAT(finding.message, explained) << finding.figure;
    }
  }
  EXPECT_THAT(verdicts.back().findings, Contains(AllOf(Field(&Finding::figure, "matmul bf16"),
                                                       Field(&Finding::rule, "peers"))));
}

TEST(ConditionsTest, AnEqualClockExplainsNothing) {
  SyntheticGpu slow = Node().back();
  slow.speeds = Everywhere(0.8);
  for (const Told& told : {Told{.megahertz = 1740, .watts = 690}, Told{}}) {
    std::vector<v1::Calibration> all = NodeWith(slow, told);
    if (told.megahertz <= 0) all.back().clear_conditions();
    const auto verdicts = VerdictsOver(all);
    for (const Finding& finding : verdicts.back().findings) {
      EXPECT_THAT(finding.message, Not(HasSubstr("clock was"))) << told.megahertz;
      EXPECT_THAT(finding.message, Not(HasSubstr("power"))) << told.megahertz;
    }
  }
}

TEST(ConditionsTest, AHistoryExplainsAsWell) {
  std::vector<v1::Calibration> all;
  for (int day = 4; day >= 0; --day) {
    SyntheticGpu gpu;
    gpu.unix_seconds = kNow - 3600 - day * kDay;
    if (day == 0) gpu.speeds = Everywhere(0.85);
    const Told told = {.megahertz = day == 0 ? 1500.0 : 1750.0, .watts = 700};
    all.push_back(At(told, CalibrationOf(gpu)));
  }
  EXPECT_THAT(VerdictsOver(all).front().findings,
              Contains(AllOf(Field(&Finding::figure, "matmul bf16"),
                             Field(&Finding::message,
                                   HasSubstr("; its clock was 14.3 % below what it was, 1500 MHz "
                                             "against 1750 MHz")))));
}

TEST(ConditionsTest, ProtectionIsBadHeatAWarningAndThePowerLimitUsual) {
  struct Case {
    double power = 0;
    double thermal = 0;
    double hardware = 0;
    HealthStatus status = HealthStatus::kOk;
  };
  for (const Case& c : {Case{.power = 1, .status = HealthStatus::kOk},
                        Case{.power = 1, .thermal = 0.025, .status = HealthStatus::kWarning},
                        Case{.hardware = 0.025, .status = HealthStatus::kCritical},
                        Case{.thermal = 1, .hardware = 1, .status = HealthStatus::kCritical}}) {
    std::vector<v1::Calibration> all = NodeWith(Node().back(), {.megahertz = 1755, .watts = 700});
    v1::OperatingConditions* const conditions = all.back().mutable_conditions();
    conditions->set_power_throttle_ratio(c.power);
    conditions->set_thermal_throttle_ratio(c.thermal);
    conditions->set_hardware_throttle_ratio(c.hardware);
    const DeviceVerdict verdict = VerdictsOver(all).back();
    EXPECT_EQ(verdict.status, c.status) << c.power << " " << c.thermal << " " << c.hardware;
    for (const Finding& finding : verdict.findings) EXPECT_EQ(finding.rule, "throttle");
  }
  v1::Calibration hot = At({}, CalibrationOf({}));
  hot.mutable_conditions()->set_thermal_throttle_ratio(0.25);
  EXPECT_THAT(FindThrottling(hot),
              ElementsAre(Field(&Finding::message,
                                "heat held its clock down in 25.0 % of 40 readings: see to its "
                                "cooling")));
}

// 132 multiprocessors x 4096 x 1.98 GHz are 1070.5 TFLOP/s.
v1::Calibration Hopper(double megahertz, double maximum_megahertz) {
  SyntheticGpu gpu;
  v1::Calibration out = At({.megahertz = megahertz, .watts = 700}, CalibrationOf(gpu));
  out.mutable_device()->set_compute_capability("9.0");
  if (maximum_megahertz > 0) {
    out.mutable_conditions()->set_maximum_sm_clock_hertz(maximum_megahertz * 1e6);
  }
  for (v1::MatmulMeasurement& m : *out.mutable_matmuls()) m.clear_register_ratio();
  return out;
}

TEST(ClockLimitTest, NoMatrixUnitDoesMoreThanItsClockAllows) {
  EXPECT_NEAR(ClockLimit(Hopper(1755, 1980).device(), v1::DATA_TYPE_BF16, 1.98e9), 1070.5e12,
              0.1e12);
  EXPECT_THAT(FindBeyondLimit(Hopper(1755, 1980), 0.02), IsEmpty());
  v1::Calibration fast = Hopper(1755, 1980);
  fast.mutable_matmuls(0)->set_flops_per_second(1090e12);  // 1.018
  EXPECT_THAT(FindBeyondLimit(fast, 0.02), IsEmpty());
  fast.mutable_matmuls(0)->set_flops_per_second(1093e12);  // 1.021
  EXPECT_THAT(
      FindBeyondLimit(fast, 0.02),
      ElementsAre(AllOf(Field(&Finding::rule, "limit"), Field(&Finding::figure, "matmul bf16"),
                        Field(&Finding::status, HealthStatus::kUnknown))));
  EXPECT_THAT(TypesWithoutLimit(fast), IsEmpty());
}

TEST(ClockLimitTest, IsNotKnownOfAllThatIsMeasured) {
  v1::Calibration unknown = Hopper(1755, 0);
  unknown.mutable_matmuls(0)->set_flops_per_second(9e15);
  EXPECT_THAT(FindBeyondLimit(unknown, 0.02), IsEmpty()) << "it does not tell its highest clock";
  EXPECT_THAT(TypesWithoutLimit(unknown), ElementsAre("bf16", "fp8_e4m3", "tf32"));
  EXPECT_EQ(DenseFlopsPerClock("12.0", v1::DATA_TYPE_BF16), 0);
  EXPECT_EQ(DenseFlopsPerClock("", v1::DATA_TYPE_BF16), 0);
  EXPECT_EQ(DenseFlopsPerClock("8.0", v1::DATA_TYPE_FP8_E4M3), 0);
}

// 108 x 2048 x 1.41 GHz are an A100's 312 TFLOP/s, 148 x 8192 x 1.856 GHz a B200's 2250.
TEST(ClockLimitTest, AgreesWithTheDatasheets) {
  v1::Device a100;
  a100.set_compute_capability("8.0");
  a100.set_compute_unit_count(108);
  EXPECT_NEAR(ClockLimit(a100, v1::DATA_TYPE_BF16, 1.41e9), 312e12, 0.5e12);
  EXPECT_NEAR(ClockLimit(a100, v1::DATA_TYPE_FP64, 1.41e9), 19.5e12, 0.1e12);
  v1::Device b200;
  b200.set_compute_capability("10.0");
  b200.set_compute_unit_count(148);
  EXPECT_NEAR(ClockLimit(b200, v1::DATA_TYPE_FP8_E4M3, 1.856e9), 4500e12, 5e12);
}

// The sustained 630 TFLOP/s would take 1165 MHz at least.
TEST(ClockLimitTest, AMedianClockThatIsTooLowIsNoted) {
  EXPECT_THAT(BeyondItsClock(Hopper(1200, 1980), 0.02), IsEmpty());
  EXPECT_THAT(BeyondItsClock(Hopper(1100, 1980), 0.02),
              ElementsAre(HasSubstr("1.06 times what it can do at its clock meanwhile, 1100 MHz")));
  // The clock that was counted in the sample itself comes before the driver's.
  v1::Calibration counted = Hopper(1200, 1980);
  FirstMatmul(IsSustained, &counted)->set_sm_clock_hertz(1.2e9);
  FirstMatmul(IsSustained, &counted)->set_counted_sm_clock_hertz(1.1e9);
  EXPECT_THAT(BeyondItsClock(counted, 0.02), SizeIs(1));
  EXPECT_THAT(FindBeyondLimit(Hopper(1100, 1980), 0.02), IsEmpty());
}

TEST(SoundConditionsTest, WhatCannotBeIsDamage) {
  v1::Calibration impossible = Hopper(1755, 1980);
  ASSERT_TRUE(ValidateCalibration(impossible, kNow).ok());
  impossible.mutable_conditions()->set_power_watts(-1);
  EXPECT_TRUE(absl::IsDataLoss(ValidateCalibration(impossible, kNow)));
  v1::Calibration batched = Hopper(1755, 1980);
  AddMatmulAs(batched.matmuls(0), v1::MatmulMeasurement::WINDOW_BURST,
              v1::MatmulMeasurement::PURPOSE_OTHER, &batched);
  EXPECT_TRUE(ValidateCalibration(batched, kNow).ok());
  FirstMatmul(IsOther, &batched)->set_batch_count(8);
  EXPECT_TRUE(absl::IsDataLoss(ValidateCalibration(batched, kNow)))
      << "eight would be eight times the rate";
}

}  // namespace
}  // namespace sextant::probe
