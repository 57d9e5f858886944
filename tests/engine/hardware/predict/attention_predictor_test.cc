#include "engine/hardware/predict/attention_predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "engine/hardware/catalogue.h"
#include "tests/engine/hardware/device_models.h"
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

// Attention that a device's own probe measured, by a formula that no model here has: 450e12 FLOP/s
// forward and 380e12 backward, each element once at 2e12 bytes a second, and a
// launch.
double PlainAttentionSeconds(const AttentionShape& shape, bool backward) {
  const auto tokens = static_cast<double>(shape.sequence);
  const double pairs = shape.causal ? tokens * (tokens + 1) / 2 : tokens * tokens;
  const double head_count = static_cast<double>(shape.batch * shape.heads);
  const auto sizes = static_cast<double>(shape.query_key_head_size + shape.value_head_size);
  const double flops = 2 * sizes * head_count * pairs;
  const double moved = 4 * sizes * head_count * tokens;
  return backward ? 25e-6 + 2.5 * flops / 380e12 + 3 * moved / 2e12
                  : 9e-6 + flops / 450e12 + moved / 2e12;
}

AttentionShape AttentionAt(int64_t sequence, int64_t heads, int64_t head_size = 128) {
  return {.batch = 1,
          .sequence = sequence,
          .heads = heads,
          .key_value_heads = heads / 4,
          .query_key_head_size = head_size,
          .value_head_size = head_size,
          .causal = true};
}

std::vector<AttentionPoint> AttentionPoints(bool backward, int64_t head_size = 128) {
  std::vector<AttentionPoint> out;
  for (const int64_t sequence : {1024, 2048, 4096, 8192, 16384}) {
    for (const int64_t heads : {8, 16, 32, 64}) {
      const AttentionShape shape = AttentionAt(sequence, heads, head_size);
      out.push_back({.shape = shape, .time = Seconds(PlainAttentionSeconds(shape, backward))});
    }
  }
  return out;
}

// A GPU that no catalogue has, or `product`.
DeviceCalibration AttentionDevice(absl::string_view product = "") {
  DeviceCalibration out = SomeGpu(product.empty() ? nullptr : AcceleratorNamed(product));
  out.compute_unit_count = 132;
  return out;
}

AttentionPredictor AttentionsOf(const MeasuredKernels& measured, DataType type) {
  auto out = AttentionPredictor::OfMeasured(measured, type);
  EXPECT_THAT(out, IsOk());
  EXPECT_TRUE(out->has_value());
  return **out;
}

// Times without noise are known no better than a measured median is, 2.5 % each way.
void ExpectWithin(const KernelTime& time, double seconds) {
  EXPECT_LE(time.low.value(), seconds);
  EXPECT_GE(time.high.value(), seconds);
  EXPECT_LE(time.low.value(), 0.975 * time.expected.value());
  EXPECT_GE(time.high.value(), 1.025 * time.expected.value());
  EXPECT_NEAR(time.expected.value() / seconds, 1, 0.05);
}

// Shapes between those that were measured, each pass by its own times: 25e-6 + 2.5/380 against
// 9e-6 + 1/450 is 2.96 times at most, and far from 3 in short ones.
TEST(MeasuredAttention, AnswersForBothPassesBeforeThePublished) {
  const DeviceCalibration device = AttentionDevice("h100-sxm");
  const MeasuredKernels measured = {
      .calibration = &device,
      .attentions = {{DataType::kBf16, AttentionPoints(false), AttentionPoints(true)}}};
  const AttentionPredictor predictor = AttentionsOf(measured, DataType::kBf16);
  for (const int64_t sequence : {1536, 3072, 6144, 12288}) {
    for (const int64_t heads : {12, 24, 48}) {
      const AttentionShape shape = AttentionAt(sequence, heads);
      const KernelTime forward = predictor.Predict(shape);
      const KernelTime backward = predictor.PredictBackward(shape);
      ExpectWithin(forward, PlainAttentionSeconds(shape, false));
      ExpectWithin(backward, PlainAttentionSeconds(shape, true));
      EXPECT_EQ(forward.basis, KernelBasis::kWithinGrid);
      EXPECT_EQ(backward.basis, KernelBasis::kWithinGrid);
    }
  }
  for (const KernelSource& source :
       {predictor.source(), predictor.BackwardSourceOf(AttentionAt(2048, 16))}) {
    EXPECT_EQ(source.source, RateSource::kMeasuredSupplied);
    EXPECT_EQ(source.device, "h100-sxm");
    EXPECT_EQ(source.device_uuid, "GPU-1");
    EXPECT_EQ(source.measured_unix_seconds, kSomeGpuMeasured);
    EXPECT_EQ(source.error.shape_count, 20);
  }
}

// Forward passes alone: the rule for the other pass. Backward ones alone: the published forward.
TEST(MeasuredAttention, OfOnePassLeavesTheOtherToTheNextSource) {
  const DeviceCalibration device = AttentionDevice("h100-sxm");
  const AttentionShape shape = AttentionAt(3072, 24);
  const AttentionPredictor forward_alone = AttentionsOf(
      {.calibration = &device, .attentions = {{DataType::kBf16, AttentionPoints(false), {}}}},
      DataType::kBf16);
  EXPECT_EQ(forward_alone.PredictBackward(shape).basis, KernelBasis::kOtherPass);
  EXPECT_NEAR(forward_alone.PredictBackward(shape).expected.value(),
              3 * forward_alone.Predict(shape).expected.value(), 1e-12);
  EXPECT_EQ(forward_alone.BackwardSourceOf(shape).source, RateSource::kMeasuredSupplied);
  const AttentionPredictor backward_alone = AttentionsOf(
      {.calibration = &device, .attentions = {{DataType::kBf16, {}, AttentionPoints(true)}}},
      DataType::kBf16);
  EXPECT_EQ(backward_alone.SourceOf(shape).source, RateSource::kReference);
  EXPECT_EQ(backward_alone.BackwardSourceOf(shape).source, RateSource::kMeasuredSupplied);
  ExpectWithin(backward_alone.PredictBackward(shape), PlainAttentionSeconds(shape, true));
}

// Head size 64 was measured forward only: three times that says more than another head size does.
TEST(MeasuredAttention, OfAHeadSizeWithoutBackwardGoesByItsForward) {
  const DeviceCalibration device = AttentionDevice();
  std::vector<AttentionPoint> forward = AttentionPoints(false);
  for (const AttentionPoint& point : AttentionPoints(false, 64)) forward.push_back(point);
  const AttentionPredictor predictor = AttentionsOf(
      {.calibration = &device, .attentions = {{DataType::kBf16, forward, AttentionPoints(true)}}},
      DataType::kBf16);
  EXPECT_EQ(predictor.PredictBackward(AttentionAt(3072, 24, 64)).basis, KernelBasis::kOtherPass);
  EXPECT_EQ(predictor.PredictBackward(AttentionAt(3072, 24, 128)).basis, KernelBasis::kWithinGrid);
  // Neither pass knows 256: the measured backward passes are nearer than three forwards.
  EXPECT_EQ(predictor.PredictBackward(AttentionAt(3072, 24, 256)).basis, KernelBasis::kOutsideGrid);
}

// fp16 runs as bf16 does; fp8 does not.
TEST(MeasuredAttention, OfALikeTypeIsWiderAndSaysSo) {
  const DeviceCalibration device = AttentionDevice();
  const MeasuredKernels measured = {
      .calibration = &device,
      .attentions = {{DataType::kBf16, AttentionPoints(false), AttentionPoints(true)}}};
  const AttentionShape shape = AttentionAt(3072, 24);
  const AttentionPredictor bf16 = AttentionsOf(measured, DataType::kBf16);
  const AttentionPredictor fp16 = AttentionsOf(measured, DataType::kFp16);
  EXPECT_EQ(fp16.Predict(shape).basis, KernelBasis::kOtherType);
  EXPECT_EQ(fp16.PredictBackward(shape).basis, KernelBasis::kOtherType);
  EXPECT_EQ(fp16.Predict(shape).expected, bf16.Predict(shape).expected);
  EXPECT_NEAR(fp16.Predict(shape).high.value(), 1.05 * bf16.Predict(shape).high.value(), 1e-12);
  const auto fp8 = AttentionPredictor::OfMeasured(measured, DataType::kFp8E4m3);
  ASSERT_THAT(fp8, IsOk());
  EXPECT_FALSE(fp8->has_value());
}

// Seven of a head size are too few for a fit: the next source answers, and no fault is made of it.
TEST(MeasuredAttention, OfTooFewShapesIsPassedOver) {
  const DeviceCalibration device = AttentionDevice("a100-sxm-80");
  std::vector<AttentionPoint> few = AttentionPoints(false);
  few.resize(7);
  const AttentionPredictor predictor = AttentionsOf(
      {.calibration = &device, .attentions = {{DataType::kBf16, few, {}}}}, DataType::kBf16);
  EXPECT_EQ(predictor.source().source, RateSource::kReference);
}

TEST(MeasuredAttention, ThatIsDamagedIsRefused) {
  const DeviceCalibration device = AttentionDevice();
  std::vector<AttentionPoint> points = AttentionPoints(false);
  points[3].time = Seconds(std::numeric_limits<double>::quiet_NaN());
  EXPECT_THAT(
      AttentionPredictor::OfMeasured(
          {.calibration = &device, .attentions = {{DataType::kBf16, points, {}}}}, DataType::kBf16),
      NamesFields(::testing::ElementsAre("calibration.attention.points[3].seconds")));
}

// DeepSeek-V3's heads: 192 numbers of a query and key, 128 of a value, published apart.
TEST(AttentionPredictor, OfLatentHeadsStandsOnPublishedLatentAttention) {
  const auto predictor =
      AttentionPredictor::OfAccelerator(*AcceleratorNamed("h100-sxm"), DataType::kBf16);
  ASSERT_TRUE(predictor.has_value());
  AttentionShape latent = AttentionAt(4096, 32, 192);
  latent.value_head_size = 128;
  latent.key_value_heads = latent.heads;
  EXPECT_EQ(predictor->Predict(latent).basis, KernelBasis::kWithinGrid);
  EXPECT_THAT(predictor->SourceOf(latent).citation, ::testing::HasSubstr("trtllm 1.3.0rc20"));
  EXPECT_THAT(predictor->source().citation, ::testing::HasSubstr("fa3"));
}

}  // namespace
}  // namespace sextant
