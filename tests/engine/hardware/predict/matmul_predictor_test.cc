#include "engine/hardware/predict/matmul_predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "engine/hardware/catalogue.h"
#include "engine/hardware/kernels/achieved_fraction.h"
#include "tests/engine/hardware/device_models.h"
#include "tests/engine/hardware/kernels/made_kernels.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr MatmulShape kProjection = {4096, 8192, 4096};

const Accelerator& Product(absl::string_view name) { return *AcceleratorNamed(name); }

// 2e12 FLOP/s in bf16, 1e12 bytes a second; as its own product, or one of nobody's.
DeviceCalibration Device(const Accelerator* accelerator) {
  return SomeGpu(accelerator, {.size = 4096, .flops_per_second = 2e12, .bytes_per_second = 1e12});
}

// The predictor of a device with its best rates, and the products that it measured in bf16.
MatmulPredictor OfMeasured(const DeviceCalibration& device, std::vector<MatmulPoint> matmuls) {
  MeasuredKernels measured = {.calibration = &device};
  if (!matmuls.empty()) measured.matmuls = {{DataType::kBf16, std::move(matmuls)}};
  const auto out = MatmulPredictor::OfMeasured(measured, DataType::kBf16);
  EXPECT_THAT(out, IsOk());
  EXPECT_TRUE(out->has_value());
  return **out;
}

TEST(MatmulPredictor, OfAMeasuredProductStandsOnPublishedTimes) {
  const auto predictor = MatmulPredictor::OfAccelerator(Product("h100-sxm"), DataType::kBf16);
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
TEST(MatmulPredictor, OfATypeLikeAMeasuredOneTakesThatOnesTimes) {
  const auto bf16 = MatmulPredictor::OfAccelerator(Product("h100-sxm"), DataType::kBf16);
  const auto fp16 = MatmulPredictor::OfAccelerator(Product("h100-sxm"), DataType::kFp16);
  ASSERT_TRUE(fp16.has_value());
  const KernelTime one = bf16->Predict(kProjection);
  const KernelTime other = fp16->Predict(kProjection);
  EXPECT_EQ(other.basis, KernelBasis::kOtherType);
  EXPECT_NEAR(other.expected.value() / one.expected.value(), 1, 1e-9);
  EXPECT_LT(other.low, one.low);
  EXPECT_GT(other.high, one.high);
}

// An A800 and an H800 are an A100 and an H100 but for their links: the same time, by their names.
TEST(MatmulPredictor, OfTheSameChipTakesItsPublishedTimes) {
  const std::pair<const char*, const char*> kSame[] = {{"a800-sxm-80", "a100-sxm-80"},
                                                       {"h800-sxm", "h100-sxm"}};
  for (const auto& [product, published] : kSame) {
    const auto own = MatmulPredictor::OfAccelerator(Product(product), DataType::kBf16);
    const auto other = MatmulPredictor::OfAccelerator(Product(published), DataType::kBf16);
    ASSERT_TRUE(own.has_value() && other.has_value());
    EXPECT_EQ(own->source().source, RateSource::kReference) << product;
    EXPECT_EQ(own->source().device, published);
    EXPECT_DOUBLE_EQ(own->Predict(kProjection).expected.value(),
                     other->Predict(kProjection).expected.value());
  }
}

// An H20's peak is 148 TFLOP/s to the H100's 989.4: a product that arithmetic binds takes 6.685
// times as long, or as little as 0.8 of that, since the H100 reaches 0.8 of its own.
TEST(MatmulPredictor, OfAnH20ScalesByThePeaks) {
  const auto own = MatmulPredictor::OfAccelerator(Product("h20"), DataType::kBf16);
  const auto other = MatmulPredictor::OfAccelerator(Product("h100-sxm"), DataType::kBf16);
  ASSERT_TRUE(own.has_value() && other.has_value());
  EXPECT_EQ(own->source().device, "h100-sxm");
  const MatmulShape large = {16384, 16384, 16384};
  const KernelTime time = own->Predict(large);
  const KernelTime published = other->Predict(large);
  EXPECT_NEAR(time.expected.value() / published.expected.value(), 989.4 / 148, 0.03);
  EXPECT_LT(time.low.value(), 0.81 * time.expected.value());
}

TEST(MatmulPredictor, OfAnyOtherProductIsItsDatasheetTimesAPublishedShare) {
  const Accelerator& mi300x = Product("mi300x");
  const auto predictor = MatmulPredictor::OfAccelerator(mi300x, DataType::kBf16);
  ASSERT_TRUE(predictor.has_value());
  EXPECT_EQ(predictor->source().source, RateSource::kDatasheet);
  EXPECT_EQ(predictor->source().form, PredictionForm::kRoofline);
  EXPECT_THAT(predictor->Nearest(kProjection, 3), IsEmpty());
  // A product so large that arithmetic is all: 2 x 16384^3 FLOPs at 668.4 TFLOP/s, and 9 % more.
  const KernelTime time = predictor->Predict({16384, 16384, 16384});
  EXPECT_NEAR(time.expected.value(), 1.09 * 2 * 16384.0 * 16384 * 16384 / 668.4e12,
              0.02 * time.expected.value());
  EXPECT_EQ(time.basis, KernelBasis::kDatasheet);
}

// No fp16 is published of an H100: bf16's times stand for it where its peak is within 2 % of
// theirs.
TEST(MatmulPredictor, TakesAnotherTypesTimesOnlyWherePeaksAreAlike) {
  const auto source_where = [](double peak_ratio) {
    Accelerator product = Product("h100-sxm");
    product.fp16_flops_per_second.value = peak_ratio * product.bf16_flops_per_second.value;
    return MatmulPredictor::OfAccelerator(product, DataType::kFp16)->source().source;
  };
  for (const double like : {0.985, 1.0, 1.015}) {
    EXPECT_EQ(source_where(like), RateSource::kReference) << like;
  }
  for (const double other : {0.97, 1.03, 0.5}) {
    EXPECT_EQ(source_where(other), RateSource::kDatasheet) << other;
  }
}

TEST(MatmulPredictor, IsAbsentWhereTheDatasheetHasNoPeak) {
  EXPECT_FALSE(
      MatmulPredictor::OfAccelerator(Product("v100-sxm-16"), DataType::kFp8E4m3).has_value());
}

TEST(MatmulPredictor, OfADeviceStandsOnItsOwnTimesBeforeItsProducts) {
  const DeviceCalibration device = Device(&Product("h100-sxm"));
  const MatmulPredictor predictor = OfMeasured(device, EvenMatmuls());
  EXPECT_EQ(predictor.source().source, RateSource::kMeasuredSupplied);
  EXPECT_EQ(predictor.source().device, "h100-sxm");
  EXPECT_EQ(predictor.source().device_uuid, "GPU-1");
  const double exact = 1e-5 + 2.0 * 2048 * 8192 * 2048 / 1e12;
  EXPECT_NEAR(predictor.Predict({2048, 8192, 2048}).expected.value(), exact, 0.05 * exact);
}

TEST(MatmulPredictor, OfADeviceWithFewTimesStandsOnItsBestRates) {
  const DeviceCalibration device = Device(nullptr);
  const MatmulPredictor predictor = OfMeasured(device, {});
  EXPECT_EQ(predictor.source().form, PredictionForm::kRoofline);
  const KernelTime time = predictor.Predict({8192, 8192, 8192});
  EXPECT_EQ(time.basis, KernelBasis::kMeasuredRate);
  EXPECT_NEAR(time.expected.value(), 1.10 * 2 * 8192.0 * 8192 * 8192 / 2e12,
              0.01 * time.expected.value());
  const auto unknown = MatmulPredictor::OfMeasured({.calibration = &device}, DataType::kFp8E4m3);
  ASSERT_THAT(unknown, IsOk());
  EXPECT_FALSE(unknown->has_value());
}

// As many as a processor's standard grid has.
TEST(MatmulPredictor, OfADeviceWithEighteenTimesStandsOnThem) {
  const DeviceCalibration device = Device(nullptr);
  std::vector<MatmulPoint> matmuls = EvenMatmuls();
  matmuls.resize(18);  // m of 16 and 128
  const MatmulPredictor predictor = OfMeasured(device, matmuls);
  EXPECT_EQ(predictor.source().form, PredictionForm::kGrid);
  EXPECT_EQ(predictor.source().error.shape_count, 18);
  const KernelTime time = predictor.Predict({64, 2048, 2048});
  const double exact = 1e-5 + 2.0 * 64 * 2048 * 2048 / 1e12;
  EXPECT_NEAR(time.expected.value(), exact, 0.15 * exact);
  EXPECT_EQ(time.basis, KernelBasis::kWithinGrid);
}

TEST(MatmulPredictor, OfADeviceRefusesDamagedTimes) {
  const DeviceCalibration device = Device(nullptr);
  std::vector<MatmulPoint> matmuls = EvenMatmuls();
  matmuls[3].time = Seconds(-1);
  const auto predictor = MatmulPredictor::OfMeasured(
      {.calibration = &device, .matmuls = {{DataType::kBf16, matmuls}}}, DataType::kBf16);
  EXPECT_EQ(predictor.status().code(), absl::StatusCode::kInvalidArgument);
}

// tf32 has half of bf16's peak, and other kernels: its own datasheet says more.
TEST(MatmulPredictor, OfATypeOfAnotherPeakIsTheDatasheets) {
  const auto tf32 = MatmulPredictor::OfAccelerator(Product("h100-sxm"), DataType::kTf32);
  ASSERT_TRUE(tf32.has_value());
  EXPECT_EQ(tf32->source().source, RateSource::kDatasheet);
  const auto int8 = MatmulPredictor::OfAccelerator(Product("h100-sxm"), DataType::kInt8);
  ASSERT_TRUE(int8.has_value());
  EXPECT_EQ(int8->source().source, RateSource::kReference);  // fp8's
}

// A large product takes at least what the dense peak allows, whatever it is predicted from.
TEST(MatmulPredictor, IsNeverFasterThanTheDatasheet) {
  for (const Accelerator& accelerator : Accelerators()) {
    for (const DataType type : {DataType::kFp64, DataType::kFp32, DataType::kTf32, DataType::kFp16,
                                DataType::kBf16, DataType::kFp8E4m3, DataType::kFp8E5m2,
                                DataType::kInt8, DataType::kMxfp8, DataType::kNvfp4}) {
      const auto predictor = MatmulPredictor::OfAccelerator(accelerator, type);
      if (!predictor.has_value()) continue;
      const double least = 2 * 8192.0 * 8192 * 8192 / PeakFlopsPerSecond(accelerator, type).value;
      EXPECT_GT(predictor->Predict({8192, 8192, 8192}).expected.value(), least)
          << accelerator.name << " " << DataTypeName(type);
    }
  }
}

TEST(MatmulPredictor, AnswersForEveryAcceleratorThatHasAPeak) {
  for (const Accelerator& accelerator : Accelerators()) {
    for (const DataType type : {DataType::kBf16, DataType::kFp16, DataType::kFp8E4m3,
                                DataType::kInt8, DataType::kFp32, DataType::kTf32}) {
      const auto predictor = MatmulPredictor::OfAccelerator(accelerator, type);
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

TEST(StackedMatmul, LaysOperandsBelowOneAnother) {
  EXPECT_EQ(StackedMatmul({8, {3, 5, 7, MatmulPass::kWeightGradient}}),
            (MatmulShape{24, 5, 7, MatmulPass::kWeightGradient}));
  const int64_t most = int64_t{1} << 40;
  EXPECT_EQ(StackedMatmul({most, {most, 1, 1}}).m, most);
  EXPECT_EQ(StackedMatmul({int64_t{1} << 20, {int64_t{1} << 20, 1, 1}}).m, most);
}

TEST(MatmulPredictorBatch, OfOneIsThatOne) {
  for (const char* product : {"h100-sxm", "mi300x"}) {
    const auto predictor = MatmulPredictor::OfAccelerator(Product(product), DataType::kBf16);
    const KernelTime one = predictor->Predict(kProjection);
    const KernelTime batch = predictor->PredictBatch({1, kProjection});
    EXPECT_EQ(batch.expected, one.expected);
    EXPECT_EQ(batch.low, one.low);
    EXPECT_EQ(batch.high, one.high);
    EXPECT_EQ(batch.basis, one.basis);
  }
}

// Small products fill a device together and not one by one: longer than one product of as many
// rows, whose second operand is shared, and shorter than one after the other.
TEST(MatmulPredictorBatch, IsBetweenOneTallProductAndAllInTurn) {
  for (const DataType type : {DataType::kBf16, DataType::kFp16, DataType::kFp8E4m3}) {
    const auto predictor = MatmulPredictor::OfAccelerator(Product("h200-sxm"), type);
    ASSERT_TRUE(predictor.has_value());
    for (const MatmulShape& each : {MatmulShape{1024, 1024, 128}, MatmulShape{256, 2048, 1024},
                                    MatmulShape{128, 128, 4096}}) {
      const KernelTime batch = predictor->PredictBatch({64, each});
      EXPECT_GT(batch.expected, predictor->Predict(StackedMatmul({64, each})).expected);
      EXPECT_LT(batch.expected, predictor->Predict(each).expected * 64.0);
      EXPECT_GE(batch.basis, KernelBasis::kOtherPass);
    }
  }
}

// A vector times a matrix of its own, 4096 times: 4096 x 4096 x 128 weights of 2 bytes, which the
// datasheet's 4.8e12 bytes a second carry in 0.9 ms, and a good kernel in little more.
TEST(MatmulPredictorBatch, ReadsAllSecondOperands) {
  const auto predictor = MatmulPredictor::OfAccelerator(Product("h200-sxm"), DataType::kBf16);
  const KernelTime time = predictor->PredictBatch({4096, {1, 4096, 128}});
  const double least = 2.0 * 4096 * 4096 * 128 / 4.8e12;
  EXPECT_GT(time.expected.value(), least);
  EXPECT_LT(time.expected.value(), 1.5 * least);
}

// 8 products of 2 x 1024 x 1024 x 64 FLOPs at 2e12 a second, and of 2 x 1024 x 64 + 1024 x 1024
// numbers of 2 bytes at 1e12, in one kernel of 3 us at least.
TEST(MatmulPredictorBatch, ByCeilingsCountsEachsBytes) {
  const DeviceCalibration device = Device(nullptr);
  const KernelTime time = OfMeasured(device, {}).PredictBatch({8, {1024, 1024, 64}});
  const double work = 8 * 2 * 1024.0 * 1024 * 64 / 2e12;
  const double bytes = 8 * 2 * (2 * 1024.0 * 64 + 1024 * 1024) / 1e12;
  const double floor = kUnmeasuredFloor.value();
  EXPECT_NEAR(time.expected.value(), 1.10 * (std::hypot(work, bytes) + floor), 1e-12);
  EXPECT_EQ(time.basis, KernelBasis::kMeasuredRate);
  EXPECT_NEAR(time.high.value() / time.expected.value(), 1.32 / 1.10 * kMatmulBatch.high, 1e-9);
}

// A device that only memory bounds, 1e12 bytes a second. Two products of one row each read a second
// matrix, 8192 x 8192 numbers of 2 bytes, that one product of two rows does not.
TEST(MatmulPredictorBatch, OfTwoReadsOneMatrixMoreThanStacked) {
  std::vector<MatmulPoint> matmuls = EvenMatmuls();
  for (MatmulPoint& matmul : matmuls) {
    const MatmulDimensions size(matmul.shape);
    const double bytes = 2 * (size.m * size.k + size.k * size.n + size.m * size.n);
    matmul.time =
        Seconds(1e-5 + std::hypot(bytes / 1e12, MatmulFlops(matmul.shape).value() / 1e18));
  }
  const DeviceCalibration device = Device(nullptr);
  const MatmulPredictor predictor = OfMeasured(device, matmuls);
  const MatmulShape each = {1, 8192, 8192};
  const double more = predictor.PredictBatch({2, each}).expected.value() -
                      predictor.Predict({2, 8192, 8192}).expected.value();
  EXPECT_NEAR(more, 8192.0 * 8192 * 2 / 1e12, 0.1 * more);
}

TEST(MatmulPredictorBatch, GrowsWithEachSizeAndIsFinite) {
  for (const char* product : {"h100-sxm", "b200-sxm", "mi300x"}) {
    const auto predictor = MatmulPredictor::OfAccelerator(Product(product), DataType::kBf16);
    const MatmulBatch small = {32, {512, 1024, 1024}};
    const Seconds time = predictor->PredictBatch(small).expected;
    EXPECT_GT(predictor->PredictBatch({64, small.each}).expected, time) << product;
    for (int64_t MatmulShape::*size : {&MatmulShape::m, &MatmulShape::n, &MatmulShape::k}) {
      MatmulBatch larger = small;
      larger.each.*size *= 2;
      EXPECT_GT(predictor->PredictBatch(larger).expected, time) << product;
    }
    const int64_t most = int64_t{1} << 40;
    const KernelTime huge = predictor->PredictBatch({most, {most, most, most}});
    EXPECT_GT(huge.low.value(), 0);
    EXPECT_LT(huge.high.value(), 1e60);
  }
}

}  // namespace
}  // namespace sextant
