#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "gpu_probe/cuda/condition_watch.h"
#include "tests/gpu_probe/cuda/fake_session.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/gpu_probe/scripted.h"

namespace sextant::probe {
namespace {

class ConditionTest : public ::testing::Test {
 protected:
  std::unique_ptr<ConditionWatch> Watch() {
    auto watch = ConditionWatch::Create(host_.NvmlTable(), FakeHost::UuidOf(gpu_), clock_);
    EXPECT_TRUE(watch.ok()) << watch.status();
    return *std::move(watch);
  }
  // Reads `count` times, 50 ms apart, while the GPU takes `watts`.
  void Readings(ConditionWatch& watch, int count, double watts) {
    for (int i = 0; i < count; ++i) {
      watch.Read();
      clock_.Advance(kConditionSeconds);
      gpu_.joules += watts * kConditionSeconds;
    }
  }

  FakeHost host_{1};
  FakeGpu& gpu_ = host_.gpus.front();
  ScriptedClock clock_;
};

TEST_F(ConditionTest, ClockAndPowerAreThoseOfTheFirstSustainedSample) {
  const auto watch = Watch();
  gpu_.sm_megahertz = 345;
  Readings(*watch, 19, /*watts=*/100);
  gpu_.sm_megahertz = 1600;
  gpu_.celsius = 62;
  gpu_.throttle_reasons = nvml::kThrottlePower;
  EXPECT_EQ(watch->BeginSample(), 1);
  Readings(*watch, 18, /*watts=*/690);
  watch->EndSample();
  gpu_.sm_megahertz = 1980;
  Readings(*watch, 1, /*watts=*/100);
  const auto conditions = watch->Summary().value();
  EXPECT_EQ(conditions.reading_count(), 40);
  EXPECT_EQ(conditions.sm_clock_hertz(), 1.6e9);
  EXPECT_EQ(conditions.maximum_sm_clock_hertz(), 1.98e9);
  EXPECT_NEAR(conditions.power_watts(), 690, 1);
  EXPECT_EQ(conditions.maximum_temperature_celsius(), 62);
  EXPECT_EQ(conditions.power_throttle_ratio(), 21.0 / 40);
  EXPECT_EQ(conditions.thermal_throttle_ratio(), 0);
  EXPECT_EQ(conditions.hardware_throttle_ratio(), 0);
}

TEST_F(ConditionTest, EachReasonCountsForItself) {
  const auto watch = Watch();
  for (const unsigned long long reasons :
       {0x1ULL, 0x2ULL, 0x4ULL, 0x8ULL, 0x10ULL, 0x20ULL, 0x40ULL, 0x80ULL, 0x100ULL, 0x24ULL}) {
    gpu_.throttle_reasons = reasons;
    watch->Read();
  }
  const auto conditions = watch->Summary();
  EXPECT_DOUBLE_EQ(conditions->power_throttle_ratio(), 0.2);
  EXPECT_DOUBLE_EQ(conditions->thermal_throttle_ratio(), 0.3);
  EXPECT_DOUBLE_EQ(conditions->hardware_throttle_ratio(), 0.2);
}

TEST_F(ConditionTest, AShortTimeTellsNoPower) {
  const auto watch = Watch();
  watch->BeginSample();
  Readings(*watch, 4, /*watts=*/690);  // 0.2 s between the first and the last
  watch->EndSample();
  EXPECT_FALSE(watch->OfSample(1).power_watts.has_value());
  EXPECT_TRUE(watch->OfSample(1).sm_clock_hertz.has_value());
  EXPECT_FALSE(watch->Summary()->has_power_watts());
}

TEST_F(ConditionTest, EachSampleHasItsOwnClockAndPower) {
  const auto watch = Watch();
  for (const double watts : {690.0, 500.0}) {
    gpu_.sm_megahertz = watts > 600 ? 1500 : 1700;
    watch->BeginSample();
    Readings(*watch, 10, watts);
    watch->EndSample();
  }
  EXPECT_NEAR(*watch->OfSample(1).power_watts, 690, 1);
  EXPECT_EQ(*watch->OfSample(1).sm_clock_hertz, 1.5e9);
  EXPECT_NEAR(*watch->OfSample(2).power_watts, 500, 1);
  EXPECT_EQ(*watch->OfSample(2).sm_clock_hertz, 1.7e9);
}

TEST_F(ConditionTest, WhatIsNotToldOrCanNotBeIsAbsent) {
  Nvml nvml = host_.NvmlTable();
  nvml.clock = [](nvml::Device, int, unsigned* megahertz) {
    *megahertz = std::numeric_limits<unsigned>::max();
    return nvml::kSuccess;
  };
  nvml.maximum_clock = {};
  nvml.energy = {};
  nvml.throttle_reasons = {};
  gpu_.celsius = 4294967282U;
  auto watch = *ConditionWatch::Create(nvml, FakeHost::UuidOf(gpu_), clock_);
  watch->BeginSample();
  Readings(*watch, 19, /*watts=*/1);
  const auto conditions = watch->Summary().value();
  v1::OperatingConditions nothing;
  nothing.set_reading_count(20);
  EXPECT_EQ(conditions.DebugString(), nothing.DebugString());
}

TEST_F(ConditionTest, AGpuThatVanishesTellsNothingMore) {
  const auto watch = Watch();
  EXPECT_FALSE(watch->Summary().has_value());
  gpu_.nvml_code = nvml::kGpuIsLost;
  watch->Read();
  v1::OperatingConditions nothing;
  nothing.set_reading_count(1);
  EXPECT_EQ(watch->Summary()->DebugString(), nothing.DebugString());
  const auto gone = ConditionWatch::Create(host_.NvmlTable(), FakeHost::UuidOf(gpu_), clock_);
  EXPECT_THAT(gone, Says("fallen off its bus"));
}

// A plan of one sustained multiplication, measured by the simulated GPU's time.
class SustainedConditionsTest : public FakeSessionTest {
 protected:
  static constexpr double kFlops = 4e14;

  absl::StatusOr<Measurement> MeasureOne() {
    const SharedSession session = Open();
    Point point;
    point.phase = point.label = "matmul sustained bf16";
    point.sustained_seconds = 1;
    point.make = [this] { return std::make_unique<Sleeping>(host_); };
    point.record = [](const v1::TimeStatistics& time, v1::Calibration* out) {
      v1::MatmulMeasurement* const matmul = out->add_matmuls();
      matmul->set_window(v1::MatmulMeasurement::WINDOW_SUSTAINED);
      matmul->set_data_type(v1::DATA_TYPE_BF16);
      matmul->set_flops_per_second(kFlops * 1e-2 / time.median_seconds());
    };
    ProbePlan plan;
    plan.device = session->device();
    plan.points.push_back(std::move(point));
    const absl::Status watched = WatchConditions(host_.NvmlTable(), session, &plan);
    if (!watched.ok()) return watched;
    return MeasurePlan(plan);
  }

 private:
  // Ten milliseconds a run.
  class Sleeping : public Workload {
   public:
    explicit Sleeping(FakeHost& host) : host_(host) {}
    void Poison() override {}
    absl::Status Run(int64_t repetition_count) override {
      host_.Sleep(1e-2 * static_cast<double>(repetition_count));
      return absl::OkStatus();
    }
    absl::Status Check() override { return absl::OkStatus(); }

   private:
    FakeHost& host_;
  };
};

TEST_F(SustainedConditionsTest, StandBesideTheirSample) {
  gpu_.sm_megahertz = 1500;
  const auto measured = MeasureOne().value();
  const v1::MatmulMeasurement& matmul = measured.calibration.matmuls(0);
  EXPECT_EQ(matmul.sm_clock_hertz(), 1.5e9);
  EXPECT_NEAR(matmul.counted_sm_clock_hertz(), 1.5e9, 1e4);
  // 4096 FLOPs a clock and multiprocessor: 8.11e14 FLOP/s.
  EXPECT_NEAR(matmul.clock_limit_ratio(), kFlops / (4096.0 * 132 * 1.5e9), 1e-4);
  EXPECT_EQ(measured.calibration.conditions().sm_clock_hertz(), 1.5e9);
}

TEST_F(SustainedConditionsTest, TheClockIsThatOfTheHalfThatCounts) {
  host_.At(0.4, [this] { gpu_.sm_megahertz = 1200; });  // in the half that does not
  const auto measured = MeasureOne().value();
  const v1::MatmulMeasurement& matmul = measured.calibration.matmuls(0);
  EXPECT_NEAR(matmul.counted_sm_clock_hertz(), 1.2e9, 1e4);
}

TEST_F(ConditionTest, ItsThreadReadsByItself) {
  SteadyClock clock;
  auto watch = *ConditionWatch::Create(host_.NvmlTable(), FakeHost::UuidOf(gpu_), clock);
  ASSERT_TRUE(watch->Start().ok());
  while (!watch->Summary().has_value()) {
  }
}

}  // namespace
}  // namespace sextant::probe
