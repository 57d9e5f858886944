#include "engine/hardware/predict/attention_predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hardware/catalogue.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

constexpr AttentionShape kLayer = {.batch = 1,
                                   .sequence = 8192,
                                   .heads = 32,
                                   .key_value_heads = 8,
                                   .query_key_head_size = 128,
                                   .value_head_size = 128,
                                   .causal = true};

TEST(AttentionPredictor, OfAMeasuredProductStandsOnPublishedTimes) {
  for (const char* name : {"a100-sxm-80", "h100-sxm", "h200-sxm", "b200-sxm"}) {
    const Accelerator& product = *AcceleratorNamed(name);
    const auto predictor = AttentionPredictor::OfAccelerator(product, DataType::kBf16);
    ASSERT_TRUE(predictor.has_value()) << name;
    EXPECT_EQ(predictor->source().source, RateSource::kReference) << name;
    EXPECT_THAT(predictor->source().citation, HasSubstr("aiconfigurator"));
    const KernelTime forward = predictor->Predict(kLayer);
    const double mfu =
        AttentionFlops(kLayer) / forward.expected.value() / product.bf16_flops_per_second.value;
    EXPECT_GT(mfu, 0.35) << name;  // published FlashAttention forwards: 50 to 75 %
    EXPECT_LT(mfu, 0.8) << name;
    const KernelTime backward = predictor->PredictBackward(kLayer);
    EXPECT_GT(backward.expected, forward.expected * 2);
    EXPECT_LT(backward.expected, forward.expected * 4);
    EXPECT_EQ(backward.basis, KernelBasis::kOtherPass);
  }
}

// 4 x 8192^2 / 2 x 32 x 128 FLOPs at 668.4 TFLOP/s, and 46 % more; hardly any of it memory.
TEST(AttentionPredictor, OfAnyOtherProductIsSlowerThanItsProducts) {
  const auto predictor =
      AttentionPredictor::OfAccelerator(*AcceleratorNamed("mi300x"), DataType::kBf16);
  ASSERT_TRUE(predictor.has_value());
  const KernelTime time = predictor->Predict(kLayer);
  EXPECT_NEAR(time.expected.value(), 1.46 * 2 * 8192.0 * 8192 * 32 * 128 / 668.4e12,
              0.03 * time.expected.value());
  EXPECT_EQ(time.basis, KernelBasis::kDatasheet);
  EXPECT_GT(predictor->PredictBackward(kLayer).expected, time.expected * 2);
}

// No table has full masks of heads of 128. FlashAttention-3 forward on an H100, in 1e12 FLOP/s:
// meta-pytorch/tritonbench, pull request 1254 (192 heads), and figure 5 of the paper (16 heads).
TEST(AttentionPredictor, OfFullMasksIsNearPublishedFigures) {
  struct Figure {
    int64_t heads;
    int64_t tokens;
    double rate;
  };
  const auto predictor =
      AttentionPredictor::OfAccelerator(*AcceleratorNamed("h100-sxm"), DataType::kBf16);
  ASSERT_TRUE(predictor.has_value());
  for (const auto& [heads, tokens, rate] : {Figure{192, 2048, 618e12}, Figure{192, 4096, 628e12},
                                            Figure{192, 8192, 639e12}, Figure{16, 16384, 648e12}}) {
    const AttentionShape shape = {.sequence = tokens,
                                  .heads = heads,
                                  .key_value_heads = heads,
                                  .query_key_head_size = 128,
                                  .value_head_size = 128,
                                  .causal = false};
    const KernelTime time = predictor->Predict(shape);
    const double measured = AttentionFlops(shape) / rate;
    EXPECT_LT(time.low.value(), measured) << tokens;
    EXPECT_GT(time.high.value(), measured) << tokens;
    if (tokens >= 4096) {
      EXPECT_NEAR(time.expected.value() / measured, 1, 0.12) << tokens;
    }
    EXPECT_EQ(time.basis, KernelBasis::kOutsideGrid);
  }
}

// By two ceilings half the keys are half the work, less certain.
TEST(AttentionPredictor, OfUnequalLengthsByCeilingsIsLessCertain) {
  const auto predictor =
      AttentionPredictor::OfAccelerator(*AcceleratorNamed("mi300x"), DataType::kBf16);
  ASSERT_TRUE(predictor.has_value());
  AttentionShape shape = kLayer;
  shape.causal = false;
  const KernelTime whole = predictor->Predict(shape);
  shape.key_sequence = shape.sequence / 2;
  const KernelTime half = predictor->Predict(shape);
  EXPECT_NEAR(half.expected.value() / whole.expected.value(), 0.5, 0.01);
  EXPECT_NEAR(half.high.value() / half.expected.value(),
              1.25 * whole.high.value() / whole.expected.value(), 1e-9);
  EXPECT_EQ(half.basis, KernelBasis::kDatasheet);
}

TEST(AttentionPredictor, IsAbsentWhereNothingIsKnown) {
  EXPECT_FALSE(
      AttentionPredictor::OfAccelerator(*AcceleratorNamed("v100-sxm-16"), DataType::kFp8E4m3)
          .has_value());
  DeviceCalibration device;
  const auto unknown = AttentionPredictor::OfMeasured({.calibration = &device}, DataType::kBf16);
  ASSERT_THAT(unknown, IsOk());
  EXPECT_FALSE(unknown->has_value());
}

}  // namespace
}  // namespace sextant
