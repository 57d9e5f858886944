#include "engine/hardware/predict/sustained_rate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

// 2 x 1024^3 FLOPs at `rate`.
MeasuredMatmul MatmulAt(double rate, bool sustained) {
  return {.data_type = DataType::kBf16,
          .m = 1024,
          .n = 1024,
          .k = 1024,
          .rate = FlopsPerSecond(rate),
          .sample_count = 9,
          .stable = true,
          .sustained = sustained,
          .engine = "library"};
}

Derating DeratingOf(const DeviceCalibration& device, std::vector<MeasuredMatmulPoints> matmuls) {
  const MeasuredKernels measured = {.calibration = &device, .matmuls = std::move(matmuls)};
  const auto out = DeratingOfMeasured(measured, DataType::kBf16, [&](DataType type) {
    return MatmulPredictor::OfMeasured(measured, type);
  });
  EXPECT_THAT(out.status(), IsOk());
  return *out;
}

const double kFlops = 2.0 * 1024 * 1024 * 1024;

TEST(SustainedRate, IsMeasuredAgainstABurstOfTheSameShape) {
  DeviceCalibration device;
  device.KeepIfBetter(MatmulAt(8e13, true));
  const std::vector<MeasuredMatmulPoints> burst = {
      {DataType::kBf16, {{{1024, 1024, 1024}, Seconds(kFlops / 1e14)}}}};
  const Derating derating = DeratingOf(device, burst);
  EXPECT_NEAR(derating.expected, 1.25, 1e-9);
  EXPECT_EQ(derating.high, derating.expected);
  EXPECT_THAT(derating.citation, HasSubstr("1024x1024x1024"));
}

// The burst is predicted by the best rates; 1.10 times their ceilings (docs/kernels.md).
TEST(SustainedRate, IsMeasuredAgainstAPredictedBurst) {
  DeviceCalibration device;
  device.KeepIfBetter(MatmulAt(2e14, false));
  device.KeepIfBetter(MatmulAt(1e14, true));
  device.ConsiderPass(StreamPattern::kCopy,
                      {.per_second = 1e15, .array_bytes = 1 << 30, .sample_count = 9});
  device.processor = true;  // no floor
  EXPECT_NEAR(DeratingOf(device, {}).expected, 2 / 1.10, 0.01);
}

TEST(SustainedRate, IsNeverAboveTheBurst) {
  DeviceCalibration device;
  device.KeepIfBetter(MatmulAt(2e14, true));
  const std::vector<MeasuredMatmulPoints> burst = {
      {DataType::kBf16, {{{1024, 1024, 1024}, Seconds(kFlops / 1e14)}}}};
  EXPECT_EQ(DeratingOf(device, burst).expected, 1);
}

TEST(SustainedRate, IsStatedWhereNobodyMeasuredIt) {
  DeviceCalibration device;
  device.KeepIfBetter(MatmulAt(1e14, false));
  const Derating gpu = DeratingOf(device, {});
  EXPECT_NEAR(gpu.expected, 0.87 / 0.80, 1e-12);
  EXPECT_NEAR(gpu.high, 1 / 0.85, 1e-12);
  EXPECT_THAT(gpu.citation, HasSubstr("ml-engineering"));
  device.processor = true;
  EXPECT_EQ(DeratingOf(device, {}).expected, 1);
}

}  // namespace
}  // namespace sextant
