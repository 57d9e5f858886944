#include "engine/time/operation_prediction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hardware/catalogue.h"
#include "engine/hardware/kernels/attention_shape.h"
#include "engine/operation/attended_pairs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::SizeIs;

const PredictedDevice kH100[] = {{.accelerator = AcceleratorNamed("h100-sxm")}};

absl::optional<OperationPrediction> On(absl::Span<const PredictedDevice> devices,
                                       const Operation& operation,
                                       DeviceJoin join = DeviceJoin::kSlowest) {
  return *PredictOperation(operation, DataType::kBf16, devices, join);
}

TEST(PredictOperation, ALinearLayerIsItsProduct) {
  const auto matmul = On(kH100, Matmul{.m = 4096, .n = 11008, .k = 2048});
  const auto linear = On(kH100, Linear{.rows = 4096, .input_size = 2048, .output_size = 11008});
  ASSERT_TRUE(matmul.has_value() && linear.has_value());
  EXPECT_EQ(matmul->forward.expected, linear->forward.expected);
  EXPECT_THAT(matmul->nearest, SizeIs(3));
  // Two products of as many FLOPs each.
  EXPECT_GT(linear->backward.expected, linear->forward.expected * 1.5);
  EXPECT_LT(linear->backward.expected, linear->forward.expected * 3);
  EXPECT_EQ(linear->backward.basis, KernelBasis::kOtherPass);
}

TEST(PredictOperation, IsOfProductsAndOfAttentionInOneKernel) {
  Attention attention = {.batch = 2,
                         .heads = 16,
                         .kv_heads = 16,
                         .query_length = 4096,
                         .key_length = 4096,
                         .head_size = 128,
                         .causal = true};
  EXPECT_TRUE(On(kH100, attention).has_value());
  attention.fused = false;
  EXPECT_FALSE(On(kH100, attention).has_value());
  attention.fused = true;
  attention.query_length = 1;  // decoding
  EXPECT_FALSE(On(kH100, attention).has_value());
  EXPECT_FALSE(On(kH100, Elementwise{.count = 1'000'000}).has_value());
  EXPECT_FALSE(On({}, Matmul{.m = 1, .n = 1, .k = 1}).has_value());
}

TEST(PredictOperation, OfSeveralDevicesOneDecides) {
  const PredictedDevice a100 = {.accelerator = AcceleratorNamed("a100-sxm-80")};
  const PredictedDevice b200 = {.accelerator = AcceleratorNamed("b200-sxm")};
  const PredictedDevice all[] = {b200, a100, kH100[0]};
  const Matmul matmul = {.m = 8192, .n = 8192, .k = 8192};
  EXPECT_EQ(On(all, matmul)->source.device, "a100-sxm-80");
  EXPECT_EQ(On(all, matmul, DeviceJoin::kMedian)->source.device, "h100-sxm");
}

// A kernel's shape and an operation count the same pairs, each in its own way.
TEST(AttentionShapes, CountThePairsThatOperationsDo) {
  for (const bool causal : {false, true}) {
    for (const int64_t window : {0, 1, 7, 64, 100}) {
      const Attention operation = {.batch = 1,
                                   .heads = 1,
                                   .kv_heads = 1,
                                   .query_length = 64,
                                   .key_length = 64,
                                   .head_size = 1,
                                   .causal = causal,
                                   .window = window};
      const AttentionShape kernel = {.sequence = 64, .causal = causal, .window = window};
      EXPECT_EQ(AttendedPairs(kernel, WindowForm::kSliding), AttendedPairs(operation))
          << causal << " " << window;
    }
  }
}

TEST(DecidingDevice, IsTheSlowestOrTheLowerMiddle) {
  const std::vector<double> seconds = {3, 1, 4, 2};
  EXPECT_EQ(DecidingDevice(seconds, DeviceJoin::kSlowest), 2U);
  EXPECT_EQ(DecidingDevice(seconds, DeviceJoin::kMedian), 3U);
  EXPECT_EQ(DecidingDevice({7}, DeviceJoin::kMedian), 0U);
}

// Two that measured nothing of the kind don't outvote the one that did; of a gang all count.
TEST(DecidingDevice, OfAProductIsOneOfTheBestSource) {
  const std::vector<double> seconds = {1, 5, 1};
  const std::vector<RateSource> sources = {RateSource::kReference, RateSource::kMeasuredModel,
                                           RateSource::kReference};
  EXPECT_EQ(DecidingDevice(seconds, DeviceJoin::kMedian, sources), 1U);
  EXPECT_EQ(DecidingDevice({1, 5, 9}, DeviceJoin::kSlowest, sources), 2U);
}

}  // namespace
}  // namespace sextant
