#include "engine/time/unfused_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/hardware/catalogue.h"
#include "engine/operation/analysis.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A layer of GPT-3 with 175e9 parameters on one of 8 devices in a tensor-parallel group.
constexpr Attention kLayer = {.batch = 1,
                              .heads = 12,
                              .kv_heads = 12,
                              .query_length = 2048,
                              .key_length = 2048,
                              .head_size = 128,
                              .causal = true,
                              .fused = false};

OperationPrediction On(const char* product, const UnfusedAttention& unfused) {
  return **PredictUnfusedAttention(unfused, DataType::kBf16,
                                   PlacedProduct(*AcceleratorNamed(product)));
}

// 2 sequences of 3 heads of keys, each for 4 heads of 5 queries; 7 keys of 11 numbers, values of 9.
TEST(ProductsOfUnfused, StackTheQueriesOfAGroup) {
  const OperationProducts products = ProductsOfUnfused({.batch = 2,
                                                        .heads = 12,
                                                        .kv_heads = 3,
                                                        .query_length = 5,
                                                        .key_length = 7,
                                                        .head_size = 11,
                                                        .value_head_size = 9,
                                                        .fused = false});
  EXPECT_THAT(products.forward,
              ElementsAre(MatmulBatch{6, {20, 7, 11}},
                          MatmulBatch{6, {20, 9, 7, MatmulPass::kInputGradient}}));
  EXPECT_THAT(products.backward,
              ElementsAre(MatmulBatch{6, {7, 9, 20, MatmulPass::kWeightGradient}},
                          MatmulBatch{6, {20, 7, 9}},
                          MatmulBatch{6, {20, 11, 7, MatmulPass::kInputGradient}},
                          MatmulBatch{6, {7, 11, 20, MatmulPass::kWeightGradient}}));
}

double FlopsOf(const std::vector<MatmulBatch>& products) {
  double sum = 0;
  for (const MatmulBatch& product : products) {
    sum += static_cast<double>(product.batch) * MatmulFlops(product.each).value();
  }
  return sum;
}

void ExpectPass(const StreamWork& work, const OperationCost& cost) {
  for (const StepCost& step : cost.steps) {
    if (step.sum.matrix_flops > Flops()) continue;
    EXPECT_EQ(work.read_bytes, static_cast<double>(step.sum.read.value())) << step.name;
    EXPECT_EQ(work.written_bytes, static_cast<double>(step.sum.written.value())) << step.name;
    EXPECT_EQ(work.flops, step.sum.other_flops.value()) << step.name;
  }
}

// The kernels that the operation's own analysis counts.
TEST(PassesOf, AreThoseOfTheAnalysis) {
  for (const DataType type : {DataType::kBf16, DataType::kFp32, DataType::kFp8E4m3}) {
    for (const bool causal : {false, true}) {
      Attention attention = kLayer;
      attention.causal = causal;
      attention.kv_heads = 4;
      attention.key_length = 3000;
      const auto analysis = AnalyzeOperation({attention, {.input = type}}, "");
      ASSERT_THAT(analysis, IsOk());
      const OperationProducts products = ProductsOfUnfused(attention);
      EXPECT_EQ(FlopsOf(products.forward), analysis->forward.sum.matrix_flops.value());
      EXPECT_EQ(FlopsOf(products.backward), analysis->backward->cost.sum.matrix_flops.value());
      const UnfusedPasses passes = PassesOf({.attention = attention}, type);
      ExpectPass(passes.forward.softmax, analysis->forward);
      ExpectPass(passes.backward.softmax, analysis->backward->cost);
      EXPECT_EQ(passes.forward.dropout.bytes(), 0);
    }
  }
}

// A score in bf16: 2 bytes in, 2 out and a byte of mask forward; mask and gradient in, gradient out
// backward.
TEST(PassesOf, DropoutMovesAMask) {
  const UnfusedPasses passes = PassesOf({.attention = kLayer, .dropout = true}, DataType::kBf16);
  const double scores = 12.0 * 2048 * 2048;
  EXPECT_EQ(passes.forward.dropout.read_bytes, 2 * scores);
  EXPECT_EQ(passes.forward.dropout.written_bytes, 3 * scores);
  EXPECT_EQ(passes.backward.dropout.read_bytes, 3 * scores);
  EXPECT_EQ(passes.backward.dropout.written_bytes, 2 * scores);
}

// Published runs of 2020 to 2022 on A100, of Megatron-LM and BLOOM, had no fused attention, and
// dropout. They took products at 0.55 of 312e12 FLOP/s for heads of 128, and 11 and 19
// bytes a score forward and backward at 0.8 of 2039e9 bytes a second, the square of s^2 scores.
// Forward within 15 % of it; backward down to 1.35 times faster, for those steps had more passes
// than are counted here.
TEST(PredictUnfusedAttention, IsNearWhatPublishedRunsTook) {
  for (const int64_t head_size : {64, 128}) {
    Attention attention = kLayer;
    attention.head_size = head_size;
    attention.batch = 8;
    const OperationPrediction times = On("a100-sxm-80", {.attention = attention, .dropout = true});
    const double scores = 8 * 12.0 * 2048 * 2048;
    const auto size = static_cast<double>(head_size);
    const double products = 4 * scores * size / (0.55 * 312e12 * std::sqrt(size / 128));
    const double forward = products + scores * 11 / (0.8 * 2039e9);
    const double backward = 2 * products + scores * 19 / (0.8 * 2039e9);
    EXPECT_GT(times.forward.expected.value(), forward / 1.15) << head_size;
    EXPECT_LT(times.forward.expected.value(), forward * 1.15) << head_size;
    EXPECT_GT(times.backward.expected.value(), backward / 1.35) << head_size;
    EXPECT_LT(times.backward.expected.value(), backward * 1.15) << head_size;
  }
}

// In one kernel no square moves, and half of it is not computed.
TEST(PredictUnfusedAttention, TakesLongerThanOneKernel) {
  for (const char* product : {"a100-sxm-80", "h100-sxm", "b200-sxm"}) {
    const PlacedDevice devices[] = {PlacedProduct(*AcceleratorNamed(product))};
    Attention attention = kLayer;
    const auto unfused =
        *PredictOperation(attention, {.input = DataType::kBf16}, devices, DeviceJoin::kSlowest);
    attention.fused = true;
    const auto fused =
        *PredictOperation(attention, {.input = DataType::kBf16}, devices, DeviceJoin::kSlowest);
    EXPECT_GT(unfused->forward.expected, fused->forward.expected * 1.5) << product;
    EXPECT_GT(unfused->backward.expected, fused->backward.expected) << product;
    EXPECT_LE(unfused->forward.low, unfused->forward.expected);
    EXPECT_LE(unfused->forward.expected, unfused->forward.high);
  }
}

TEST(PredictUnfusedAttention, SaysWhatItAddsUp) {
  OperationPrediction times = On("h100-sxm", {.attention = kLayer});
  EXPECT_THAT(times.source.citation, HasSubstr("GEMM"));
  ASSERT_TRUE(times.forward_passes.has_value() && times.backward_passes.has_value());
  EXPECT_GT(times.backward_passes->expected, times.forward_passes->expected);
  EXPECT_LT(times.forward_passes->expected, times.forward.expected);
  EXPECT_THAT(PassesText(times), HasSubstr("passes over the scores"));
  EXPECT_THAT(PassesText({}), IsEmpty());
  // A dropout's pass is added.
  const OperationPrediction with = On("h100-sxm", {.attention = kLayer, .dropout = true});
  EXPECT_GT(with.forward.expected, times.forward.expected);
  EXPECT_GT(with.backward.expected, times.backward.expected);
}

// Sustained, products take longer and passes between them do not.
TEST(PredictUnfusedAttention, SlowsDownInItsProductsAlone) {
  const OperationPrediction burst = On("h100-sxm", {.attention = kLayer});
  OperationPrediction sustained = burst;
  ASSERT_THAT(
      MakeSustained(PlacedProduct(*AcceleratorNamed("h100-sxm")), DataType::kBf16, sustained),
      IsOk());
  const double passes = burst.forward_passes->expected.value();
  EXPECT_NEAR(sustained.forward.expected.value(),
              (burst.forward.expected.value() - passes) *
                      (1 + (kNeutralDerating - 1) * burst.forward_work_share) +
                  passes,
              1e-12);
  EXPECT_GT(burst.forward_work_share, 0.1);
  EXPECT_LT(burst.forward_work_share, 1);
  EXPECT_GE(sustained.forward.low, burst.forward.low);
  EXPECT_GT(sustained.forward.high, burst.forward.high);
}

TEST(PredictUnfusedAttention, IsAbsentWhereNothingIsKnown) {
  const auto none = PredictUnfusedAttention({.attention = kLayer}, DataType::kBf16, {});
  ASSERT_THAT(none, IsOk());
  EXPECT_FALSE(none->has_value());
  const auto narrow = PredictUnfusedAttention({.attention = kLayer}, DataType::kFp8E4m3,
                                              PlacedProduct(*AcceleratorNamed("v100-sxm-16")));
  ASSERT_THAT(narrow, IsOk());
  EXPECT_FALSE(narrow->has_value());
}

// Sizes whose products pass 2^40 and a sequence of one token.
TEST(PredictUnfusedAttention, IsFiniteForAbsurdSizes) {
  Attention attention = kLayer;
  attention.batch = attention.heads = attention.kv_heads = int64_t{1} << 39;
  EXPECT_TRUE(std::isfinite(On("h100-sxm", {.attention = attention}).backward.high.value()));
  attention = {.batch = 1,
               .heads = 1,
               .kv_heads = 1,
               .query_length = 1,
               .key_length = 1,
               .head_size = 1,
               .fused = false};
  EXPECT_GT(On("h100-sxm", {.attention = attention}).forward.low, Seconds(0));
}

}  // namespace
}  // namespace sextant
