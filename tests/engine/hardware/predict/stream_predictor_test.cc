#include "engine/hardware/predict/stream_predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hardware/catalogue.h"
#include "tests/engine/hardware/device_models.h"
#include "tests/engine/hardware/kernels/made_kernels.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr double kGibibyte = 1 << 30;
constexpr StreamWork kCopy = {kGibibyte, kGibibyte};

// `device` with the passes of a standard probe.
MeasuredKernels PassesOf(const DeviceCalibration& device) {
  return {.calibration = &device, .passes = MadePasses(PlainSeconds)};
}

TEST(StreamPredictor, OfADeviceStandsOnItsOwnPasses) {
  const DeviceCalibration device = SomeGpu(AcceleratorNamed("h200-sxm"));
  const MeasuredKernels measured = PassesOf(device);
  const auto predictor = StreamPredictor::OfMeasured(measured, DataType::kBf16);
  ASSERT_THAT(predictor, IsOk());
  ASSERT_TRUE(predictor->has_value());
  const KernelSource& source = (*predictor)->source();
  EXPECT_EQ(source.source, RateSource::kMeasuredSupplied);
  EXPECT_EQ(source.form, PredictionForm::kStreams);
  EXPECT_EQ(source.device_uuid, "GPU-1");
  EXPECT_EQ(source.error.shape_count, 17);
  const KernelTime time = (*predictor)->Predict(kCopy, StreamKind::kElementwise);
  EXPECT_NEAR(time.expected.value(), kGibibyte / 3e12 + kGibibyte / 2.5e12, 1e-9);
  EXPECT_THAT((*predictor)->Nearest(kCopy, 3), SizeIs(3));
}

// The H200 has half as many FLOP/s in fp64 as in fp32.
TEST(StreamPredictor, CountsFp64AsSlower) {
  const DeviceCalibration device = SomeGpu(AcceleratorNamed("h200-sxm"));
  const MeasuredKernels measured = PassesOf(device);
  const auto fp32 = StreamPredictor::OfMeasured(measured, DataType::kFp32);
  const auto fp64 = StreamPredictor::OfMeasured(measured, DataType::kFp64);
  ASSERT_TRUE(fp32.ok() && fp64.ok());
  const StreamWork busy = {8, 8, 1e15};
  EXPECT_NEAR((*fp64)->Predict(busy, {}).expected.value(),
              2 * (*fp32)->Predict(busy, {}).expected.value(), 0.1);
}

// 4.8e12 bytes a second, of which published copies reach 4.3e12.
TEST(StreamPredictor, OfAProductIsItsBandwidthTimesAPublishedShare) {
  const auto predictor =
      StreamPredictor::OfAccelerator(*AcceleratorNamed("h200-sxm"), DataType::kBf16);
  ASSERT_TRUE(predictor.has_value());
  EXPECT_EQ(predictor->source().source, RateSource::kDatasheet);
  EXPECT_THAT(predictor->source().citation, HasSubstr("published copies"));
  const KernelTime time = predictor->Predict({4.3e12, 4.3e12}, StreamKind::kElementwise);
  EXPECT_NEAR(time.expected.value(), 2, 1e-4);
  EXPECT_EQ(time.basis, KernelBasis::kDatasheet);
  EXPECT_THAT(predictor->Nearest(kCopy, 3), IsEmpty());
  // Nobody published one of an MI300X: the interval holds the shares of all that somebody did.
  const auto other = StreamPredictor::OfAccelerator(*AcceleratorNamed("mi300x"), DataType::kBf16);
  ASSERT_TRUE(other.has_value());
  const KernelTime wide = other->Predict(kCopy, StreamKind::kElementwise);
  const KernelTime narrow = predictor->Predict(kCopy, StreamKind::kElementwise);
  EXPECT_GT(wide.high.value() / wide.low.value(), narrow.high.value() / narrow.low.value());
}

TEST(StreamPredictor, OfADeviceWithoutPassesFallsBackOnItsProduct) {
  const DeviceCalibration known = SomeGpu(AcceleratorNamed("h200-sxm"));
  const auto product = StreamPredictor::OfMeasured({.calibration = &known}, DataType::kBf16);
  ASSERT_THAT(product, IsOk());
  ASSERT_TRUE(product->has_value());
  EXPECT_EQ((*product)->source().source, RateSource::kDatasheet);
  const DeviceCalibration unknown = SomeGpu(nullptr);
  const auto none = StreamPredictor::OfMeasured({.calibration = &unknown}, DataType::kBf16);
  ASSERT_THAT(none, IsOk());
  EXPECT_FALSE(none->has_value());
}

TEST(StreamPredictor, RefusesDamagedPasses) {
  const DeviceCalibration device = SomeGpu(nullptr);
  MeasuredKernels measured = PassesOf(device);
  measured.passes.streams[0].time = Seconds(0);
  EXPECT_EQ(StreamPredictor::OfMeasured(measured, DataType::kBf16).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sextant
