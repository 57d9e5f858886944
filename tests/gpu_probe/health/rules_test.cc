// The rules one by one, by numbers that can be redone by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "gpu_probe/health/figures.h"
#include "gpu_probe/health/findings.h"
#include "gpu_probe/health/references.h"
#include "proto/matmul_kind.h"
#include "tests/gpu_probe/health/synthetic.h"
#include "tests/support/matmul_kinds.h"

namespace sextant::probe {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Field;

HealthMetric Rate(double rate, double doubt = 0) {
  return {.name = "copy", .unit = "B/s", .points = {{.key = "", .rate = rate, .doubt = doubt}}};
}

std::vector<const HealthMetric*> Pointers(const std::vector<HealthMetric>& figures) {
  std::vector<const HealthMetric*> out;
  for (const HealthMetric& figure : figures) out.push_back(&figure);
  return out;
}

TEST(FiguresTest, AreThoseThatSayHowFastADeviceIs) {
  v1::Calibration calibration = CalibrationOf({});
  // No search for the best.
  calibration.add_matmuls()->set_purpose(v1::MatmulMeasurement::PURPOSE_REQUESTED);
  v1::StreamMeasurement* const cache = calibration.add_streams();
  cache->set_operation(v1::StreamMeasurement::OPERATION_COPY);
  cache->set_bytes_per_second(1e15);  // not of memory
  const std::vector<HealthMetric> figures = FiguresOf(calibration);
  std::vector<std::string> names;
  for (const HealthMetric& figure : figures) names.push_back(figure.name + ", " + figure.unit);
  EXPECT_THAT(names,
              ElementsAre("matmul bf16, FLOP/s", "matmul fp8_e4m3, FLOP/s", "matmul tf32, FLOP/s",
                          "matmul bf16 sustained, FLOP/s", "copy, B/s", "triad, B/s",
                          "elementwise bandwidth, B/s", "elementwise arithmetic, FLOP/s"));
  EXPECT_EQ(BestOf(figures[kCopy]).rate, 3e12);
  EXPECT_EQ(BestOf(figures[kBf16]).rate, 700e12);
}

TEST(FiguresTest, OnlyWhatBothRanIsCompared) {
  const auto bf16 = [](std::vector<RatePoint> points) {
    return HealthMetric{.name = "matmul bf16", .unit = "FLOP/s", .points = std::move(points)};
  };
  // The first one's best shape is not the second's: 80 against 100 remain.
  const HealthMetric wide = bf16({{.key = "a", .rate = 80}, {.key = "b", .rate = 500}});
  const HealthMetric quick = bf16({{.key = "a", .rate = 100}, {.key = "c", .rate = 900}});
  EXPECT_THAT(CompareFigures(wide, quick)->log_deficit, DoubleNear(std::log(1.25), 1e-12));
  EXPECT_THAT(CompareFigures(quick, wide)->log_deficit, DoubleNear(std::log(0.8), 1e-12));
  EXPECT_FALSE(CompareFigures(wide, bf16({{.key = "c", .rate = 1}})).has_value());
}

TEST(FiguresTest, AnUnstableTimeIsDoubtedByHalfItsRange) {
  v1::TimeStatistics time;
  time.set_median_seconds(2);
  time.set_p10_seconds(1.9);
  time.set_p90_seconds(2.3);
  EXPECT_THAT(DoubtOf(time), DoubleNear(0.1, 1e-12));
  time.set_stable(true);
  EXPECT_EQ(DoubtOf(time), 0);
}

// 94 against the median of 90, 98, 99, 100, 101 (the 200 is older): 94/99 is 5.05 % slower.
TEST(HistoryRuleTest, IsTheMedianOfTheLastFive) {
  const std::vector<HealthMetric> older = {Rate(200), Rate(90),  Rate(98),
                                           Rate(99),  Rate(100), Rate(101)};
  const auto reference = AgainstHistory(Rate(94), Pointers(older), 0.05).value();
  EXPECT_EQ(reference.count, 5);
  EXPECT_THAT(std::exp(reference.log_deficit), DoubleNear(99.0 / 94.0, 1e-12));
  EXPECT_TRUE(IsSlowerThanHistory(reference, 0.05));
  EXPECT_FALSE(IsSlowerThanHistory(*AgainstHistory(Rate(94.1), Pointers(older), 0.05), 0.05));
}

TEST(HistoryRuleTest, NoiseOfAnUnstableFigureIsTakenOff) {
  const std::vector<HealthMetric> steady = {Rate(100)};
  EXPECT_TRUE(IsSlowerThanHistory(*AgainstHistory(Rate(93), Pointers(steady), 0.05), 0.05));
  EXPECT_FALSE(IsSlowerThanHistory(*AgainstHistory(Rate(93, 0.03), Pointers(steady), 0.05), 0.05));
  const std::vector<HealthMetric> noisy = {Rate(100, 0.03)};
  EXPECT_FALSE(IsSlowerThanHistory(*AgainstHistory(Rate(93), Pointers(noisy), 0.05), 0.05));
  EXPECT_TRUE(IsSlowerThanHistory(*AgainstHistory(Rate(60, 0.03), Pointers(noisy), 0.05), 0.05));
}

// Ten slow measurements after five good ones: the norm is still the good ones.
TEST(HistoryRuleTest, ASlowDeviceDoesNotBecomeItsOwnNorm) {
  std::vector<HealthMetric> older(5, Rate(100));
  older.insert(older.end(), 10, Rate(80));
  const auto reference = AgainstHistory(Rate(80), Pointers(older), 0.05);
  EXPECT_THAT(std::exp(reference->log_deficit), DoubleNear(1.25, 1e-12));
  EXPECT_TRUE(IsSlowerThanHistory(*reference, 0.05));
}

// But one lucky start does not condemn all that comes: the first five count as they are.
TEST(HistoryRuleTest, OneOutlierAtTheStartIsOutvoted) {
  std::vector<HealthMetric> older = {Rate(150)};
  older.insert(older.end(), 4, Rate(100));
  EXPECT_FALSE(IsSlowerThanHistory(*AgainstHistory(Rate(99), Pointers(older), 0.05), 0.05));
}

std::vector<HealthMetric> Falling(double share_a_run, int count) {
  std::vector<HealthMetric> figures;
  for (int i = 0; i < count; ++i) figures.push_back(Rate(100 * std::pow(1 - share_a_run, i)));
  return figures;
}

// 2 % a run: the sixth is 0.98^3 = 0.941 of the median of the first five, and is taken in no
// more, nor is any after it. 1 % a run is 0.99^3 = 0.970 of it for ever: docs/health.md says so.
TEST(HistoryRuleTest, ADriftIsSeenWhereThreeRunsOfItAreTooMuch) {
  const auto fast =
      AgainstHistory(Rate(100 * std::pow(0.98, 12)), Pointers(Falling(0.02, 12)), 0.05);
  EXPECT_THAT(std::exp(-fast->log_deficit), DoubleNear(std::pow(0.98, 10), 1e-12));
  EXPECT_TRUE(IsSlowerThanHistory(*fast, 0.05));
  const auto slow =
      AgainstHistory(Rate(100 * std::pow(0.99, 12)), Pointers(Falling(0.01, 12)), 0.05);
  EXPECT_THAT(std::exp(-slow->log_deficit), DoubleNear(std::pow(0.99, 3), 1e-12));
  EXPECT_FALSE(IsSlowerThanHistory(*slow, 0.05));
}

TEST(HistoryRuleTest, WithoutHistoryThereIsNoReference) {
  EXPECT_FALSE(AgainstHistory(Rate(1), {}, 0.05).has_value());
}

PeerReferences Among(double judged, const std::vector<double>& rates) {
  std::vector<std::vector<HealthMetric>> peers;
  for (const double rate : rates) peers.push_back({Rate(rate)});
  std::vector<const std::vector<HealthMetric>*> pointers;
  for (const auto& peer : peers) pointers.push_back(&peer);
  return AgainstPeers({Rate(judged)}, pointers);
}

// Peers e^-0.02, e^-0.02, 1, e^0.02, e^0.04 times 100: median 100, distances 2, 2, 0, 2, 4 %, their
// median 2 %. The deviation is 1.4826 x 1.217 (five values) x 0.02 x sqrt(1 + pi / 10) = 0.041368;
// a device at e^-0.17 is 4.109 deviations below.
TEST(PeerRuleTest, DeviationIsByTheMedianDistance) {
  const auto rate = [](double log) { return 100 * std::exp(log); };
  const auto reference =
      *Among(rate(-0.17), {rate(-0.02), rate(-0.02), rate(0), rate(0.02), rate(0.04)}).figures[0];
  EXPECT_EQ(reference.count, 5);
  EXPECT_THAT(reference.log_deficit, DoubleNear(0.17, 1e-12));
  EXPECT_THAT(reference.deviation, DoubleNear(0.041368, 1e-6));
  EXPECT_THAT(reference.z, DoubleNear(4.1095, 1e-3));
  EXPECT_TRUE(IsSlowerThanPeers(reference, {}));
  EXPECT_FALSE(IsSlowerThanPeers(reference, {.peer_z = 4.5}));
  EXPECT_FALSE(IsSlowerThanPeers(reference, {.peer_tolerance = 0.17}));
}

// The factor makes the spread of a few values unbiased: the mean of many draws is the deviation.
TEST(PeerRuleTest, TheSpreadOfFewPeersIsNotTooLow) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, 0.1);
  for (const size_t count : {3, 4, 5, 6, 7, 8, 9, 10, 16, 31}) {
    double sum = 0;
    constexpr int kDraws = 20000;
    for (int draw = 0; draw < kDraws; ++draw) {
      std::vector<double> rates;
      for (size_t i = 0; i < count; ++i) rates.push_back(100 * std::exp(normal(random)));
      const double prediction = std::sqrt(1 + std::numbers::pi / 2 / static_cast<double>(count));
      // The floor of 1 % is below nearly all draws.
      sum += Among(100, rates).figures[0]->deviation / prediction;
    }
    EXPECT_THAT(sum / kDraws, DoubleNear(0.1, 0.0025)) << count << " peers";
  }
}

// Peers that agree to the last digit leave 1 %: 0.01 x sqrt(1 + pi / 6) = 0.012343, so that four
// deviations are 4.8 %.
TEST(PeerRuleTest, PeersThatAgreeByChanceDontMakeADeviceSlow) {
  const std::vector<double> equal = {100, 100, 100};
  EXPECT_THAT(Among(96, equal).figures[0]->deviation, DoubleNear(0.012343, 1e-6));
  EXPECT_FALSE(IsSlowerThanPeers(*Among(96, equal).figures[0], {}));
  EXPECT_TRUE(IsSlowerThanPeers(*Among(95, equal).figures[0], {}));
}

TEST(PeerRuleTest, TwoPeersAreTooFew) {
  EXPECT_FALSE(Among(50, {100, 100}).figures[0].has_value());
}

// Where every figure is 4 % below the peers', no single one is alarming, but all of them together
// are; a device that is slow in a single figure is not accused.
TEST(PeerRuleTest, FiguresThatAgreeNeedLess) {
  std::vector<SyntheticGpu> gpus = Node();
  gpus[0].speeds = Everywhere(0.96);
  const DeviceVerdict slow = VerdictsOver(gpus, kAtOnce)[0];
  EXPECT_THAT(slow.findings, ElementsAre(Field(&Finding::figure, "all figures")));
  EXPECT_THAT(slow.findings[0].ratio, DoubleNear(0.96, 1e-9));
  gpus[0].speeds = Everywhere(1);
  gpus[0].speeds[kCopy] = 0.96;
  EXPECT_EQ(VerdictsOver(gpus)[0].status, HealthStatus::kOk);
}

v1::Calibration WithRegisters(double ratio) {
  v1::Calibration calibration = CalibrationOf({});
  for (v1::MatmulMeasurement& m : *calibration.mutable_matmuls()) m.clear_register_ratio();
  v1::RegisterMeasurement* const registers = calibration.add_registers();
  registers->set_data_type(v1::DATA_TYPE_FP8_E4M3);
  registers->set_flops_per_second(1400e12 / ratio);
  registers->mutable_time()->set_median_seconds(1e-3);
  registers->mutable_time()->set_p10_seconds(1e-3);
  registers->mutable_time()->set_p90_seconds(1e-3);
  registers->mutable_time()->set_stable(true);
  return calibration;
}

TEST(LimitRuleTest, FasterThanTheRegistersIsWronglyMeasured) {
  EXPECT_TRUE(FindBeyondLimit(WithRegisters(1.019), 0.02).empty());
  const std::vector<Finding> findings = FindBeyondLimit(WithRegisters(1.03), 0.02);
  ASSERT_EQ(findings.size(), 1u) << "of two shapes in one type the worse";
  EXPECT_EQ(findings[0].figure, "matmul fp8_e4m3");
  EXPECT_EQ(findings[0].status, HealthStatus::kUnknown);
  EXPECT_THAT(findings[0].ratio, DoubleNear(1.03, 1e-9));
  EXPECT_THAT(findings[0].reference, DoubleNear(1400e12 / 1.03, 1));
}

TEST(LimitRuleTest, UnstableRegistersLeaveMoreOpen) {
  v1::Calibration calibration = WithRegisters(1.05);
  v1::TimeStatistics* const time = calibration.mutable_registers(0)->mutable_time();
  time->set_stable(false);
  EXPECT_FALSE(FindBeyondLimit(calibration, 0.02).empty()) << "its samples agree all the same";
  time->set_p10_seconds(0.95e-3);
  time->set_p90_seconds(1.05e-3);
  EXPECT_TRUE(FindBeyondLimit(calibration, 0.02).empty());
}

TEST(LimitRuleTest, TypesWithoutRegistersAreSaid) {
  EXPECT_TRUE(TypesWithoutLimit(CalibrationOf({})).empty());
  EXPECT_THAT(TypesWithoutLimit(WithRegisters(1)), ElementsAre("bf16", "tf32"));
}

TEST(LimitRuleTest, TheRatioAloneIsEnough) {
  v1::Calibration calibration = CalibrationOf({});
  FirstMatmul(IsSustained, &calibration)->set_register_ratio(1.2);
  const std::vector<Finding> findings = FindBeyondLimit(calibration, 0.02);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].figure, "matmul bf16 sustained");
}

TEST(HealthStatusTest, KnownFaultsGoBeforeUnknown) {
  EXPECT_EQ(Worse(HealthStatus::kUnknown, HealthStatus::kCritical), HealthStatus::kCritical);
  EXPECT_EQ(Worse(HealthStatus::kUnknown, HealthStatus::kWarning), HealthStatus::kWarning);
  EXPECT_EQ(Worse(HealthStatus::kUnknown, HealthStatus::kOk), HealthStatus::kUnknown);
  EXPECT_EQ(Worse(HealthStatus::kOk, HealthStatus::kOk), HealthStatus::kOk);
}

}  // namespace
}  // namespace sextant::probe
