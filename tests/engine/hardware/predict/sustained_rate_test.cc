#include "engine/hardware/predict/sustained_rate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hardware/catalogue.h"
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
  const auto out = DeratingOfMeasured(measured, DataType::kBf16, [&](MatmulType type) {
    return MatmulPredictor::OfMeasured(measured, type);
  });
  EXPECT_THAT(out.status(), IsOk());
  return *out;
}

// One product, at 1e14 FLOP/s.
std::vector<MeasuredMatmulPoints> Burst() {
  const Seconds time(2.0 * 1024 * 1024 * 1024 / 1e14);
  return {{DataType::kBf16, {{{1024, 1024, 1024}, time}}}};
}

TEST(SustainedRate, IsMeasuredAgainstABurstOfTheSameShape) {
  DeviceCalibration device;
  device.KeepIfBetter(MatmulAt(8e13, true));
  const Derating derating = DeratingOf(device, Burst());
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
  EXPECT_EQ(DeratingOf(device, Burst()).expected, 1);
}

// By analogy with an H100, 0.87 over 0.80 of its peak: 1.09.
TEST(SustainedRate, IsStatedWhereNobodyMeasuredIt) {
  DeviceCalibration device;
  device.KeepIfBetter(MatmulAt(1e14, false));
  const Derating gpu = DeratingOf(device, {});
  EXPECT_NEAR(gpu.expected, 0.87 / 0.80, 0.02);
  EXPECT_EQ(gpu.high, 1.5);
  EXPECT_THAT(gpu.citation, HasSubstr("ml-engineering"));
  device.processor = true;
  EXPECT_EQ(DeratingOf(device, {}).expected, 1);
}

// A device of a product that the catalogue has gets that product's.
TEST(SustainedRate, OfADeviceIsItsProducts) {
  DeviceCalibration device;
  device.accelerator = AcceleratorNamed("a100-sxm-80");
  EXPECT_EQ(DeratingOf(device, {}).expected, 1.05);
  device.accelerator = AcceleratorNamed("b200-sxm");
  EXPECT_GT(DeratingOf(device, {}).expected, 1.3);
}

struct StatedCase {
  const char* product;
  DataType type;
  double low;  // of published figures
  double high;
};

// The sources' figures of each product lie within the interval, with the expected factor among it.
TEST(SustainedRate, HoldsWhatIsPublished) {
  const StatedCase cases[] = {
      {"a100-sxm-80", DataType::kBf16, 1.00, 1.05}, {"h100-sxm", DataType::kBf16, 1.09, 1.12},
      {"h100-sxm", DataType::kFp8E4m3, 1.09, 1.10}, {"h200-sxm", DataType::kBf16, 1.09, 1.12},
      {"b200-sxm", DataType::kBf16, 1.33, 1.64},    {"gb200", DataType::kBf16, 1.2, 1.33},
      {"gb200", DataType::kFp8E4m3, 1.1, 1.21},     {"gb200", DataType::kNvfp4, 0.88, 0.94},
      {"a800-sxm-80", DataType::kBf16, 1.00, 1.05}, {"h800-sxm", DataType::kBf16, 1.09, 1.12},
      {"gb300", DataType::kBf16, 1.0, 1.05},        {"gb300", DataType::kFp8, 0.82, 0.93}};
  for (const StatedCase& each : cases) {
    const Derating derating = DeratingOfUnmeasured(AcceleratorNamed(each.product), each.type);
    EXPECT_GE(derating.expected, each.low - 0.02) << each.product;
    EXPECT_LE(derating.expected, each.high + 0.02) << each.product;
    EXPECT_GE(derating.high, each.high) << each.product;
    EXPECT_LE(derating.low, each.low) << each.product;
    EXPECT_FALSE(derating.citation.empty());
  }
  for (const Accelerator& accelerator : Accelerators()) {
    for (const DataType type :
         {DataType::kFp32, DataType::kBf16, DataType::kInt8, DataType::kFp4}) {
      const Derating derating = DeratingOfUnmeasured(&accelerator, type);
      EXPECT_GE(derating.low, 0.75) << accelerator.name;
      EXPECT_GE(derating.expected, derating.low) << accelerator.name;
      EXPECT_GE(derating.high, derating.expected) << accelerator.name;
    }
  }
}

// Half of 10 ms is arithmetic: 1.4 times as long are 12 ms. Relative distances add in squares:
// below (0.1^2 + (1 - 1 / 1.2)^2)^(1/2) = 0.1944, above (0.2^2 + (1.25 / 1.2 - 1)^2)^(1/2) =
// 0.2043.
TEST(Sustained, SlowsTheArithmeticAlone) {
  const KernelTime burst = {
      .expected = Seconds(0.010), .low = Seconds(0.009), .high = Seconds(0.012)};
  const Derating derating = {.expected = 1.4, .high = 1.5};
  const KernelTime half = Sustained(burst, derating, 0.5);
  EXPECT_NEAR(half.expected.value(), 0.012, 1e-12);
  EXPECT_NEAR(half.low.value(), 0.012 * (1 - 0.1944), 1e-6);
  EXPECT_NEAR(half.high.value(), 0.012 * 1.2043, 1e-6);
  const KernelTime none = Sustained(burst, derating, 0);
  EXPECT_EQ(none.expected, burst.expected);
  EXPECT_NEAR(none.low.value(), 0.009, 1e-12);
  EXPECT_NEAR(none.high.value(), 0.012, 1e-12);
}

TEST(Sustained, OfAttentionIsExpectedToBeTheNeutralAtMost) {
  const Derating attention = DeratingOfAttention({.expected = 1.4, .high = 1.5});
  EXPECT_EQ(attention.expected, kNeutralDerating);
  EXPECT_EQ(attention.high, 1.5);
  EXPECT_EQ(DeratingOfAttention({}).expected, 1);
}

}  // namespace
}  // namespace sextant
