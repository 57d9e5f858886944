// Parts of a product's time: quantisation, arithmetic, sizes off a multiple, another version.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "engine/hardware/catalogue.h"
#include "engine/hardware/kernels/matmul_model.h"
#include "engine/hardware/predict/matmul_predictor.h"
#include "engine/hardware/reference/reference_matmuls.h"
#include "tests/engine/hardware/device_models.h"
#include "tests/engine/hardware/kernels/made_kernels.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

constexpr MatmulType kFp8ByBlock = {DataType::kFp8E4m3, MatmulScaling::kBlock};

const Accelerator& ProductNamed(absl::string_view name) { return *AcceleratorNamed(name); }

template <typename Type>  // a data type, or one with its scaling
MatmulPredictor Published(absl::string_view product, Type type) {
  return *MatmulPredictor::OfAccelerator(ProductNamed(product), type);
}

// The predictor of a device without best rates, from products in bf16 that it measured.
MatmulPredictor OfProducts(const DeviceCalibration& device,
                           const std::vector<MatmulPoint>& matmuls) {
  return **MatmulPredictor::OfMeasured(
      {.calibration = &device, .matmuls = {{DataType::kBf16, matmuls}}}, DataType::kBf16);
}

// 2e12 FLOP/s in bf16, 1e12 bytes a second, launches of 3 us.
MatmulPredictor OfRates(bool processor = false) {
  DeviceCalibration device =
      SomeGpu(nullptr, {.size = 4096, .flops_per_second = 2e12, .bytes_per_second = 1e12});
  device.processor = processor;
  return **MatmulPredictor::OfMeasured({.calibration = &device}, DataType::kBf16);
}

// 5 bytes of each of 8192 x 8192 numbers at 0.80 of an H100's 3.35e12 bytes a second: 125 us.
TEST(PredictQuantised, LeavesOutThePassOverX) {
  const MatmulShape shape = {8192, 8192, 8192};
  const MatmulPredictor fp8 = Published("h100-sxm", DataType::kFp8E4m3);
  const KernelTime whole = fp8.Predict(shape);
  const KernelTime alone = fp8.PredictQuantised(shape);
  const double pass = 5 * 8192.0 * 8192 / (0.80 * 3.35e12);
  EXPECT_NEAR((whole.expected.value() - alone.expected.value()) / pass, 1, 0.01);
  // Less than twice as fast as bf16, and no faster than the peak.
  const double bf16 = Published("h100-sxm", DataType::kBf16).Predict(shape).expected.value();
  EXPECT_GT(alone.expected.value(), 0.45 * bf16);
  EXPECT_LT(alone.expected.value(), 0.65 * bf16);
  EXPECT_GT(alone.expected.value(), MatmulFlops(shape).value() / 1979e12);
  EXPECT_LT(alone.low.value() / alone.expected.value(), whole.low.value() / whole.expected.value());
  EXPECT_GT(alone.high.value() / alone.expected.value(),
            whole.high.value() / whole.expected.value());
}

TEST(PredictQuantised, LeavesOutTwoFifthsAtMost) {
  const MatmulPredictor fp8 = Published("h100-sxm", DataType::kFp8E4m3);
  const MatmulShape tall = {32768, 64, 8192};
  EXPECT_NEAR(fp8.PredictQuantised(tall).expected.value(), 0.6 * fp8.Predict(tall).expected.value(),
              1e-12);
  EXPECT_GT(fp8.PredictQuantised(tall).low.value(), 0.3 * fp8.Predict(tall).low.value());
}

TEST(PredictQuantised, OfWhatIsNotQuantisedIsPredict) {
  const MatmulShape shape = {4096, 4096, 4096};
  const MatmulPredictor bf16 = Published("h100-sxm", DataType::kBf16);
  EXPECT_EQ(bf16.PredictQuantised(shape).expected, bf16.Predict(shape).expected);
  EXPECT_EQ(bf16.PredictQuantised(shape).low, bf16.Predict(shape).low);
  // A probe's own products have narrow operands from the start.
  const DeviceCalibration device = SomeGpu(&ProductNamed("h100-sxm"));
  const auto own = MatmulPredictor::OfMeasured(
      {.calibration = &device, .matmuls = {{DataType::kFp8E4m3, EvenMatmuls()}}},
      DataType::kFp8E4m3);
  ASSERT_THAT(own, IsOk());
  EXPECT_EQ((*own)->PredictQuantised(shape).expected, (*own)->Predict(shape).expected);
  EXPECT_EQ((*own)->PredictQuantised(shape).high, (*own)->Predict(shape).high);
}

TEST(QuantisedBytes, AreReadsAndAWrite) {
  EXPECT_EQ(QuantisedBytes(MatmulTypeNamed("bf16")), 0);
  EXPECT_EQ(QuantisedBytes(MatmulTypeNamed("fp8")), 5);        // two reads of 2, a write of 1
  EXPECT_EQ(QuantisedBytes(MatmulTypeNamed("fp8_block")), 3);  // one read of 2
  EXPECT_EQ(QuantisedBytes(MatmulTypeNamed("nvfp4")), 4.5);
}

TEST(WorkShare, IsThatOfTheRoofline) {
  const MatmulPredictor rates = OfRates();
  const double work = 2 * 1024.0 * 1024 * 64 / 2e12;
  const double bytes = 2 * (2 * 1024.0 * 64 + 1024 * 1024) / 1e12;
  const double roof = std::hypot(work, bytes);
  EXPECT_NEAR(rates.WorkShare(MatmulShape{1024, 1024, 64}), work * work / (roof * (roof + 3e-6)),
              1e-9);
  const double all = std::hypot(8 * work, 8 * bytes);
  EXPECT_NEAR(rates.WorkShare({8, {1024, 1024, 64}}), 64 * work * work / (all * (all + 3e-6)),
              1e-9);
}

TEST(WorkShare, IsOfArithmeticBoundProducts) {
  for (const char* product : {"a100-sxm-80", "h100-sxm", "b200-sxm", "mi300x"}) {
    const MatmulPredictor bf16 = Published(product, DataType::kBf16);
    EXPECT_LT(bf16.WorkShare(MatmulShape{1, 1, 1}), 0.01) << product;
    EXPECT_LT(bf16.WorkShare(MatmulShape{1, 16384, 16384}), 0.01) << product;
    EXPECT_GT(bf16.WorkShare(MatmulShape{16384, 16384, 16384}), 0.95) << product;
    const int64_t most = int64_t{1} << 40;
    const double huge = bf16.WorkShare({most, {most, most, most}});
    EXPECT_GE(huge, 0) << product;
    EXPECT_LE(huge, 1) << product;
  }
}

TEST(OffAMultiple, IsSlowerByAStatedFactor) {
  for (const char* product : {"h100-sxm", "mi300x"}) {
    const MatmulPredictor bf16 = Published(product, DataType::kBf16);
    const double even = bf16.Predict({8192, 8192, 8192}).expected.value();
    const KernelTime off = bf16.Predict({8192, 8192, 8200});
    EXPECT_NEAR(off.expected.value() / even, 1.3, 0.02) << product;
    EXPECT_LT(off.low.value(), even) << product;
    EXPECT_GT(off.high.value(), 1.55 * even) << product;
    EXPECT_NEAR(bf16.Predict({8193, 8192, 8192}).expected.value() / even, 1, 0.15) << product;
  }
}

TEST(OffAMultiple, OfAMeasuredShapeIsNone) {
  const DeviceCalibration device = SomeGpu(nullptr);
  std::vector<MatmulPoint> matmuls = EvenMatmuls();
  const MatmulShape off = {4096, 5400, 4096};
  matmuls.push_back({off, Seconds(1e-5 + MatmulFlops(off).value() / 1e12)});
  const MatmulPredictor own = OfProducts(device, matmuls);
  EXPECT_EQ(own.SlowdownOf({.each = off}), MatmulSlowdown());
  EXPECT_EQ(own.SlowdownOf({.each = {4096, 7000, 4000}}), MatmulSlowdown());
  EXPECT_EQ(own.SlowdownOf({.each = {64, 5400, 4096}}), kOffMultipleOf64);
  EXPECT_EQ(own.SlowdownOf({.batch = 8, .each = {4096, 5401, 4096}}), kBatchOffMultipleOf8);
  // A processor has no matrix units of such sizes.
  EXPECT_EQ(OfRates(true).SlowdownOf({.each = off}), MatmulSlowdown());
  EXPECT_EQ(OfRates().SlowdownOf({.each = off}), kOffMultipleOf64);
}

struct Version {
  double p5;
  double p50;
  double p95;
};

// Ratios of the same shapes' times in other versions and libraries, as published; the last is of
// two libraries on an A100.
constexpr Version kVersions[] = {{0.90, 0.99, 1.08},  {0.91, 1.00, 1.11}, {0.89, 1.00, 1.10},
                                 {0.93, 1.02, 1.18},  {0.95, 1.04, 1.29}, {0.88, 1.02, 1.23},
                                 {0.90, 0.956, 0.996}};

// The share of a version's ratios below `ratio`, its logarithms normal on either side of the
// median.
double Below(const Version& version, double ratio) {
  constexpr double kAtP95 = 1.645;
  const double end = ratio < version.p50 ? version.p5 : version.p95;
  const double deviation = std::abs(std::log(end / version.p50)) / kAtP95;
  return 0.5 * std::erfc(-std::log(ratio / version.p50) / deviation / std::sqrt(2.0));
}

// kOtherVersion alone holds the 10th to 90th percentile of all, and not much more.
TEST(OtherVersion, HoldsFourFifthsOfWhatIsPublished) {
  double below = 0;
  double above = 0;
  for (const Version& version : kVersions) {
    below += Below(version, kOtherVersion.low) / std::size(kVersions);
    above += (1 - Below(version, kOtherVersion.high)) / std::size(kVersions);
  }
  EXPECT_LE(below, 0.10);
  EXPECT_LE(above, 0.10);
  EXPECT_GT(below + above, 0.15);
}

// Independent doubts add up by the squares of their logarithms.
TEST(OtherVersion, WidensPublishedTimesAlone) {
  const MatmulShape shape = {4096, 4096, 4096};
  for (const char* type : {"bf16", "fp8", "fp8_block"}) {
    const MatmulModel& model = *ReferenceMatmuls("h100-sxm", MatmulTypeNamed(type));
    const KernelTime narrow = model.Predict(shape);
    const KernelTime wide = Published("h100-sxm", MatmulTypeNamed(type)).Predict(shape);
    EXPECT_EQ(wide.expected, narrow.expected);
    const auto log_of = [&](Seconds end) { return std::log(end.value() / wide.expected.value()); };
    EXPECT_NEAR(log_of(wide.low), -std::hypot(log_of(narrow.low), std::log(0.92)), 1e-9) << type;
    EXPECT_NEAR(log_of(wide.high), std::hypot(log_of(narrow.high), std::log(1.15)), 1e-9) << type;
  }
  const DeviceCalibration device = SomeGpu(nullptr);
  const MatmulPredictor own = OfProducts(device, EvenMatmuls());
  EXPECT_EQ(own.Predict(shape).high, own.own_model()->Predict(shape).high);
}

// A probe scales fp8 by tensor, so published times by block answer; without any, its own times do,
// with the doubt of another type.
TEST(Fp8ByBlock, OfADeviceIsPublished) {
  const auto of = [](const Accelerator* accelerator) {
    const DeviceCalibration device = SomeGpu(accelerator);
    return **MatmulPredictor::OfMeasured(
        {.calibration = &device, .matmuls = {{DataType::kFp8E4m3, EvenMatmuls()}}}, kFp8ByBlock);
  };
  const MatmulPredictor published = of(&ProductNamed("h200-sxm"));
  EXPECT_EQ(published.source().source, RateSource::kReference);
  EXPECT_THAT(published.source().citation, HasSubstr("fp8_block"));
  const MatmulPredictor own = of(nullptr);
  EXPECT_EQ(own.source().source, RateSource::kMeasuredSupplied);
  const KernelTime time = own.Predict({4096, 4096, 4096});
  EXPECT_EQ(time.basis, KernelBasis::kOtherType);
  EXPECT_LE(time.low, time.expected * MatmulFallbacks::kFarType.low);
}

}  // namespace
}  // namespace sextant
