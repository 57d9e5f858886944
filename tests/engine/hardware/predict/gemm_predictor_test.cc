#include "engine/hardware/predict/gemm_predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hardware/catalogue.h"
#include "engine/hardware/kernels/achieved_fraction.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr GemmShape kProjection = {4096, 8192, 4096};

const Accelerator& Product(absl::string_view name) { return *AcceleratorNamed(name); }

// 2e12 FLOP/s in bf16, 1e12 bytes a second; as its own product, or one of nobody's.
DeviceCalibration Device(const Accelerator* accelerator) {
  DeviceCalibration out;
  out.uuid = "GPU-1";
  out.product_name = "Some GPU";
  out.accelerator = accelerator;
  out.measured_unix_seconds = 1'700'000'000;
  out.probe_version = "sextant-probe 0.1.0";
  out.Consider({.data_type = DataType::kBf16,
                .m = 4096,
                .n = 4096,
                .k = 4096,
                .rate = FlopsPerSecond(2e12),
                .sample_count = 9,
                .stable = true,
                .engine = "library"});
  out.ConsiderCopy({.per_second = 1e12, .array_bytes = 1 << 30, .sample_count = 9});
  return out;
}

// Times of a device that does 1e12 FLOP/s and starts in 10 us, whatever the shape.
std::vector<MeasuredGemm> ManyGemms() {
  std::vector<MeasuredGemm> out;
  for (const int64_t m : {16, 128, 1024, 4096}) {
    for (const int64_t n : {1024, 4096, 16384}) {
      for (const int64_t k : {1024, 4096, 16384}) {
        const double flops =
            2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
        out.push_back({{m, n, k}, Seconds(1e-5 + flops / 1e12)});
      }
    }
  }
  return out;
}

TEST(GemmPredictor, OfAMeasuredProductStandsOnPublishedTimes) {
  const auto predictor = GemmPredictor::OfAccelerator(Product("h100-sxm"), DataType::kBf16);
  ASSERT_TRUE(predictor.has_value());
  EXPECT_EQ(predictor->source().source, RateSource::kReference);
  EXPECT_THAT(predictor->source().citation, HasSubstr("aiconfigurator"));
  EXPECT_GT(predictor->source().error.shape_count, 0);
  const KernelTime time = predictor->Predict(kProjection);
  // 275 GFLOP at 45 to 95 % of 989.4 TFLOP/s.
  EXPECT_GT(time.expected.value(), 2.9e-4);
  EXPECT_LT(time.expected.value(), 6.2e-4);
  EXPECT_LT(time.low, time.expected);
  EXPECT_LT(time.expected, time.high);
  EXPECT_THAT(predictor->Nearest(kProjection, 3), SizeIs(3));
}

// Nobody published fp16: bf16 has its peak, and stands for it with a wider interval.
TEST(GemmPredictor, OfATypeLikeAMeasuredOneTakesThatOnesTimes) {
  const auto bf16 = GemmPredictor::OfAccelerator(Product("h100-sxm"), DataType::kBf16);
  const auto fp16 = GemmPredictor::OfAccelerator(Product("h100-sxm"), DataType::kFp16);
  ASSERT_TRUE(fp16.has_value());
  const KernelTime one = bf16->Predict(kProjection);
  const KernelTime other = fp16->Predict(kProjection);
  EXPECT_EQ(other.basis, KernelBasis::kOtherType);
  EXPECT_NEAR(other.expected.value() / one.expected.value(), 1, 1e-9);
  EXPECT_LT(other.low, one.low);
  EXPECT_GT(other.high, one.high);
}

TEST(GemmPredictor, OfAnyOtherProductIsItsDatasheetTimesAPublishedShare) {
  const Accelerator& mi300x = Product("mi300x");
  const auto predictor = GemmPredictor::OfAccelerator(mi300x, DataType::kBf16);
  ASSERT_TRUE(predictor.has_value());
  EXPECT_EQ(predictor->source().source, RateSource::kDatasheet);
  EXPECT_EQ(predictor->source().form, "roofs");
  EXPECT_THAT(predictor->Nearest(kProjection, 3), IsEmpty());
  // A product so large that arithmetic is all: 2 x 16384^3 FLOPs at 668.4 TFLOP/s, and 9 % more.
  const KernelTime time = predictor->Predict({16384, 16384, 16384});
  EXPECT_NEAR(time.expected.value(), 1.09 * 2 * 16384.0 * 16384 * 16384 / 668.4e12,
              0.02 * time.expected.value());
  EXPECT_EQ(time.basis, KernelBasis::kDatasheet);
}

TEST(GemmPredictor, IsAbsentWhereTheDatasheetHasNoPeak) {
  EXPECT_FALSE(
      GemmPredictor::OfAccelerator(Product("v100-sxm-16"), DataType::kFp8E4m3).has_value());
}

TEST(GemmPredictor, OfADeviceStandsOnItsOwnTimesBeforeItsProducts) {
  const DeviceCalibration device = Device(&Product("h100-sxm"));
  const MeasuredKernels measured = {.calibration = &device,
                                    .source = RateSource::kMeasuredDevice,
                                    .gemms = {{DataType::kBf16, ManyGemms()}}};
  const auto predictor = GemmPredictor::OfMeasured(measured, DataType::kBf16);
  ASSERT_THAT(predictor, IsOk());
  ASSERT_TRUE(predictor->has_value());
  EXPECT_EQ((*predictor)->source().source, RateSource::kMeasuredDevice);
  EXPECT_EQ((*predictor)->source().device, "h100-sxm");
  EXPECT_EQ((*predictor)->source().device_uuid, "GPU-1");
  const double exact = 1e-5 + 2.0 * 2048 * 8192 * 2048 / 1e12;
  EXPECT_NEAR((*predictor)->Predict({2048, 8192, 2048}).expected.value(), exact, 0.05 * exact);
}

TEST(GemmPredictor, OfADeviceWithFewTimesStandsOnItsBestRates) {
  const DeviceCalibration device = Device(nullptr);
  const MeasuredKernels measured = {.calibration = &device, .gemms = {}};
  const auto predictor = GemmPredictor::OfMeasured(measured, DataType::kBf16);
  ASSERT_THAT(predictor, IsOk());
  ASSERT_TRUE(predictor->has_value());
  EXPECT_EQ((*predictor)->source().form, "roofs");
  const KernelTime time = (*predictor)->Predict({8192, 8192, 8192});
  EXPECT_EQ(time.basis, KernelBasis::kMeasuredRate);
  EXPECT_NEAR(time.expected.value(), 1.10 * 2 * 8192.0 * 8192 * 8192 / 2e12,
              0.01 * time.expected.value());
  const auto unknown = GemmPredictor::OfMeasured(measured, DataType::kFp8E4m3);
  ASSERT_THAT(unknown, IsOk());
  EXPECT_FALSE(unknown->has_value());
}

TEST(GemmPredictor, OfADeviceRefusesDamagedTimes) {
  const DeviceCalibration device = Device(nullptr);
  std::vector<MeasuredGemm> gemms = ManyGemms();
  gemms[3].time = Seconds(-1);
  const auto predictor = GemmPredictor::OfMeasured(
      {.calibration = &device, .gemms = {{DataType::kBf16, gemms}}}, DataType::kBf16);
  EXPECT_EQ(predictor.status().code(), absl::StatusCode::kInvalidArgument);
}

// tf32 has half of bf16's peak, and other kernels: its own datasheet says more.
TEST(GemmPredictor, OfATypeOfAnotherPeakIsTheDatasheets) {
  const auto tf32 = GemmPredictor::OfAccelerator(Product("h100-sxm"), DataType::kTf32);
  ASSERT_TRUE(tf32.has_value());
  EXPECT_EQ(tf32->source().source, RateSource::kDatasheet);
  const auto int8 = GemmPredictor::OfAccelerator(Product("h100-sxm"), DataType::kInt8);
  ASSERT_TRUE(int8.has_value());
  EXPECT_EQ(int8->source().source, RateSource::kReference);  // fp8's
}

// A large product takes at least what the dense peak allows, whatever it is predicted from.
TEST(GemmPredictor, IsNeverFasterThanTheDatasheet) {
  for (const Accelerator& accelerator : Accelerators()) {
    for (const DataType type : {DataType::kFp64, DataType::kFp32, DataType::kTf32, DataType::kFp16,
                                DataType::kBf16, DataType::kFp8E4m3, DataType::kFp8E5m2,
                                DataType::kInt8, DataType::kMxfp8, DataType::kNvfp4}) {
      const auto predictor = GemmPredictor::OfAccelerator(accelerator, type);
      if (!predictor.has_value()) continue;
      const double least = 2 * 8192.0 * 8192 * 8192 / PeakFlopsPerSecond(accelerator, type).value;
      EXPECT_GT(predictor->Predict({8192, 8192, 8192}).expected.value(), least)
          << accelerator.name << " " << DataTypeName(type);
    }
  }
}

TEST(GemmPredictor, AnswersForEveryAcceleratorThatHasAPeak) {
  for (const Accelerator& accelerator : Accelerators()) {
    for (const DataType type : {DataType::kBf16, DataType::kFp16, DataType::kFp8E4m3,
                                DataType::kInt8, DataType::kFp32, DataType::kTf32}) {
      const auto predictor = GemmPredictor::OfAccelerator(accelerator, type);
      const bool known = static_cast<bool>(PeakFlopsPerSecond(accelerator, type)) &&
                         static_cast<bool>(accelerator.memory_bandwidth_bytes_per_second);
      ASSERT_TRUE(predictor.has_value() || !known) << accelerator.name << DataTypeName(type);
      if (!predictor.has_value()) continue;
      for (const int64_t size : {int64_t{1}, int64_t{1000}, int64_t{1} << 40}) {
        const KernelTime time = predictor->Predict({size, size, size});
        EXPECT_GT(time.low.value(), 0) << accelerator.name;
        EXPECT_LT(time.low, time.high);
        EXPECT_LT(time.high.value(), 1e40);
      }
    }
  }
}

}  // namespace
}  // namespace sextant
