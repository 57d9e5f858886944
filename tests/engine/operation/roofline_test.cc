// Rooflines with their advice, and the utilisation that a time has reached.
#include "engine/operation/roofline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr OperationTypes kRooflineTypes = {.input = DataType::kBf16};

// Ridge 100 FLOPs a byte.
constexpr DeviceRates kDevice = {.matrix = FlopsPerSecond(1e14), .memory = BytesPerSecond(1e12)};

OperationCost Cost(const Operation& op) {
  const auto analysis = AnalyzeOperation({op, kRooflineTypes}, "");
  EXPECT_THAT(analysis, IsOk());
  return analysis.value_or(OperationAnalysis()).forward;
}

Roofline Of(const Operation& op, const DeviceRates& rates,
            RooflineMethod method = RooflineMethod::kSmooth) {
  const auto roofline = RooflineOf(Cost(op), rates, method);
  EXPECT_THAT(roofline, IsOk());
  return roofline.value_or(Roofline());
}

// The text is "" where there is no advice.
Advice AdviceOn(const Operation& op, const DeviceRates& rates) {
  const OperationRequest request = {op, kRooflineTypes};
  const auto analysis = AnalyzeOperation(request, "");
  EXPECT_THAT(analysis, IsOk());
  if (!analysis.ok()) return {};
  const auto advice = AdviceFor(request, *analysis, rates);
  EXPECT_THAT(advice, IsOk());
  return advice.value_or(Advice());
}

template <typename Text>
::testing::Matcher<const Advice&> IsAdvice(AdviceKind kind, Text text) {
  return AllOf(Field("kind", &Advice::kind, kind), Field("text", &Advice::text, text));
}

// n = 300: 5.4e7 FLOPs over 5.4e5 bytes, exactly on the ridge: c = m = 0.54 us.
TEST(Roofline, AtTheRidgeTakesRootTwoOfEither) {
  const Matmul op = {.m = 300, .n = 300, .k = 300};
  const Roofline smooth = Of(op, kDevice);
  EXPECT_DOUBLE_EQ(*smooth.intensity, 100);
  EXPECT_DOUBLE_EQ(smooth.ridge, 100);
  EXPECT_DOUBLE_EQ(smooth.compute.value(), 5.4e-7);
  EXPECT_DOUBLE_EQ(smooth.memory.value(), 5.4e-7);
  EXPECT_DOUBLE_EQ(smooth.time.value(), 5.4e-7 * std::sqrt(2));
  EXPECT_DOUBLE_EQ(smooth.classical.value(), 5.4e-7);
  EXPECT_DOUBLE_EQ(smooth.fraction_of_peak, 1 / std::sqrt(2));
  EXPECT_DOUBLE_EQ(Of(op, kDevice, RooflineMethod::kClassical).time.value(), 5.4e-7);
}

// Between perfect overlap and none, and near the longer of the two far from the ridge.
TEST(Roofline, SmoothMaximumLiesBetweenTheLargerAndTheSum) {
  for (int64_t m = 1; m <= 1 << 20; m *= 2) {
    const Roofline r = Of(Matmul{.m = m, .n = 1024, .k = 1024}, kDevice);
    EXPECT_GE(r.time, r.classical);
    EXPECT_LE(r.time, r.compute + r.memory);
    EXPECT_EQ(r.bound == RooflineBound::kCompute, *r.intensity > r.ridge) << m;
    const double ratio = std::min(r.compute, r.memory).value() / r.classical.value();
    // sqrt(1 + x^2) <= 1 + x^2 / 2
    EXPECT_LE(r.time.value(), r.classical.value() * (1 + ratio * ratio / 2) * (1 + 1e-12));
  }
}

// Products at 1e14, the rest at 1e13: softmax on general units has a ridge of 10.
TEST(Roofline, GeneralArithmeticHasItsOwnRate) {
  DeviceRates rates = kDevice;
  rates.general = FlopsPerSecond(1e13);
  const Roofline r = Of(Softmax{1000, 1000}, rates);
  EXPECT_DOUBLE_EQ(r.ridge, 10);
  EXPECT_DOUBLE_EQ(r.compute.value(), 5e6 / 1e13);
  EXPECT_EQ(Of(Matmul{.m = 300, .n = 300, .k = 300}, rates).ridge, 100);
}

// Each kernel pays its launch; kernels follow one another.
TEST(Roofline, AddsUpKernels) {
  DeviceRates rates = kDevice;
  rates.launch = Seconds(1e-6);
  const auto analysis = AnalyzeOperation({Softmax{1000, 1000}, kRooflineTypes}, "");
  ASSERT_THAT(analysis, IsOk());
  const auto unfused = RooflineOf(*analysis->unfused, rates);
  ASSERT_THAT(unfused, IsOk());
  EXPECT_DOUBLE_EQ(unfused->launch.value(), 5e-6);
  double kernels = 5e-6;
  for (const StepCost& step : analysis->unfused->steps) {
    kernels += std::hypot(step.sum.flops().value() / 1e14,
                          static_cast<double>(step.sum.moved().value()) / 1e12);
  }
  EXPECT_NEAR(unfused->time.value(), kernels, 1e-18);
}

TEST(Roofline, OfNothingTakesNoTime) {
  const auto r = RooflineOf(OperationCost(), kDevice);
  ASSERT_THAT(r, IsOk());
  EXPECT_EQ(r->time, Seconds(0));
  EXPECT_EQ(r->fraction_of_peak, 0);
  EXPECT_FALSE(r->intensity.has_value());
}

TEST(Roofline, RefusesRatesThatAreNone) {
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(RooflineOf({}, {.matrix = FlopsPerSecond(bad),
                                .general = FlopsPerSecond(bad),
                                .memory = BytesPerSecond(bad),
                                .launch = Seconds(-1)}),
                NamesFields(ElementsAre("matrix_flops_per_second", "general_flops_per_second",
                                        "memory_bytes_per_second", "launch_seconds")));
  }
}

// Passes need no rate of products: 2 x 1e6 x 2 bytes at 1e12 bytes a second.
TEST(Roofline, OfPassesOverMemoryNeedsNoRateOfProducts) {
  const auto copy = AnalyzeOperation({Softmax{1000, 1000}, kRooflineTypes}, "");
  const auto product = AnalyzeOperation({Matmul{.m = 8, .n = 8, .k = 8}, kRooflineTypes}, "");
  ASSERT_THAT(copy, IsOk());
  ASSERT_THAT(product, IsOk());
  const DeviceRates memory = {.memory = BytesPerSecond(1e12)};
  const auto alone = RooflineOf(copy->forward, memory);
  ASSERT_THAT(alone, IsOk());
  EXPECT_DOUBLE_EQ(alone->time.value(), 4e6 / 1e12);
  EXPECT_EQ(alone->bound, RooflineBound::kMemory);
  EXPECT_EQ(alone->ridge, 0);
  EXPECT_THAT(RooflineOf(product->forward, memory),
              NamesFields(ElementsAre("matrix_flops_per_second")));
}

// m (2 n k - R s (k + n)) >= R s n k with R = 100, s = 2 bytes:
// n = k = 1000: m (2e6 - 4e5) > 2e8, m > 125.
TEST(RowsAtRidge, AreWhereComputeStartsToBind) {
  const Matmul op = {.m = 1, .n = 1000, .k = 1000};
  EXPECT_EQ(RowsAtRidge({op, kRooflineTypes}, kDevice), 126);
  EXPECT_EQ(Of(Matmul{.m = 126, .n = 1000, .k = 1000}, kDevice).bound, RooflineBound::kCompute);
  EXPECT_EQ(Of(Matmul{.m = 125, .n = 1000, .k = 1000}, kDevice).bound, RooflineBound::kMemory);
  const Linear linear = {.rows = 7, .input_size = 1000, .output_size = 1000};
  EXPECT_EQ(RowsAtRidge({linear, kRooflineTypes}, kDevice), 126);
  EXPECT_EQ(RowsAtRidge({BatchedMatmul{.batch = 9, .m = 1, .n = 1000, .k = 1000}, kRooflineTypes},
                        kDevice),
            126);
}

// A device has as many rows as there are tokens, m = tokens / 4 of each of its experts. Of two
// products with GELU between them, three times 4000 bytes are moved a row:
// m (4e6 + 5e3) >= 100 (4e6 + 12e3 m), m (4.005e6 - 1.2e6) >= 4e8, 4 m > 570.4.
TEST(RowsAtRidge, OfExpertsAreTokens) {
  Experts op = {.tokens = 8,
                .hidden_size = 1000,
                .feed_forward_size = 1000,
                .expert_count = 8,
                .experts_per_token = 2,
                .expert_parallel_size = 2,
                .gated = false};
  const auto tokens = RowsAtRidge({op, kRooflineTypes}, kDevice);
  ASSERT_TRUE(tokens.has_value());
  op.tokens = *tokens;
  EXPECT_EQ(Of(op, kDevice).bound, RooflineBound::kCompute);
  op.tokens = *tokens - 1;
  EXPECT_EQ(Of(op, kDevice).bound, RooflineBound::kMemory);
  EXPECT_EQ(*tokens, 571);
  op.tokens = 8;
  EXPECT_THAT(AdviceOn(op, kDevice),
              IsAdvice(AdviceKind::kMoreRows, HasSubstr(absl::StrCat("until tokens = ", *tokens))));
}

// With n = k = 100 even endless rows have 50 FLOPs a byte.
TEST(RowsAtRidge, MayNotExist) {
  EXPECT_FALSE(
      RowsAtRidge({Matmul{.m = 1, .n = 100, .k = 100}, kRooflineTypes}, kDevice).has_value());
  EXPECT_FALSE(RowsAtRidge({Softmax{10, 10}, kRooflineTypes}, kDevice).has_value());
}

TEST(Advice, OnMemoryIsMoreRowsWhereTheyReachTheRidge) {
  const Advice matmul = AdviceOn(Matmul{.m = 8, .n = 1000, .k = 1000}, kDevice);
  EXPECT_THAT(matmul, IsAdvice(AdviceKind::kMoreRows,
                               AllOf(StartsWith("memory-bound"), HasSubstr("until m = 126"))));
  EXPECT_THAT(matmul.values, ElementsAre(NoteValue{"rows_at_ridge", 126}));
  EXPECT_THAT(AdviceOn(Linear{.rows = 8, .input_size = 1000, .output_size = 1000}, kDevice),
              IsAdvice(AdviceKind::kMoreRows, HasSubstr("until rows = 126")));
  const Advice small = AdviceOn(Matmul{.m = 8, .n = 100, .k = 100}, kDevice);
  EXPECT_THAT(small, IsAdvice(AdviceKind::kFuse, HasSubstr("at any m")));
  EXPECT_THAT(small.values, IsEmpty());
}

TEST(Advice, OnMemoryIsToFuseOrToStoreLess) {
  const Advice relu = AdviceOn(Activation{ActivationFunction::kRelu, 1000}, kDevice);
  EXPECT_THAT(relu, IsAdvice(AdviceKind::kFuse, HasSubstr("fuse with its neighbours")));
  EXPECT_THAT(relu.values, IsEmpty());  // one kernel either way
  EXPECT_THAT(AdviceOn(OptimizerUpdate{.parameters = 1000}, kDevice),
              IsAdvice(AdviceKind::kFewerBytes, HasSubstr("state")));
  EXPECT_THAT(AdviceOn(EmbeddingLookup{4, 9, 3}, kDevice),
              IsAdvice(AdviceKind::kFewerBytes, HasSubstr("no arithmetic")));
  EXPECT_THAT(AdviceOn(Attention{.batch = 1,
                                 .heads = 1,
                                 .kv_heads = 1,
                                 .query_length = 512,
                                 .key_length = 512,
                                 .head_size = 64,
                                 .fused = false},
                       kDevice),
              IsAdvice(AdviceKind::kFuse, HasSubstr("fused kernel")));
}

// In one kernel a softmax of bf16 reads and writes each element once; its separate steps (maximum,
// subtraction, exponential, sum, division) move more.
TEST(Advice, SaysWhatFusingSaves) {
  const OperationRequest request = {Softmax{1000, 1000}, kRooflineTypes};
  const auto analysis = AnalyzeOperation(request, "");
  ASSERT_THAT(analysis, IsOk());
  const double ratio = static_cast<double>(analysis->forward.sum.moved().value()) /
                       static_cast<double>(analysis->unfused->sum.moved().value());
  EXPECT_LT(ratio, 0.6);
  const Advice advice = AdviceOn(Softmax{1000, 1000}, kDevice);
  EXPECT_THAT(advice, IsAdvice(AdviceKind::kFuse, HasSubstr("of the bytes of its separate steps")));
  EXPECT_THAT(advice.values, ElementsAre(NoteValue{"fused_bytes_ratio", ratio}));
}

// 2 x 4096^3 FLOPs over 3 x 2 x 4096^2 bytes: 4096 / 3 a byte.
TEST(Advice, OnArithmeticIsLessOfIt) {
  const Advice advice = AdviceOn(Matmul{.m = 4096, .n = 4096, .k = 4096}, kDevice);
  EXPECT_THAT(advice, IsAdvice(AdviceKind::kLessArithmetic,
                               StartsWith("compute-bound: 1365 FLOPs a byte, the ridge is "
                                          "100")));
  ASSERT_EQ(advice.values.size(), 2u);
  EXPECT_EQ(advice.values[0].name, "flops_per_byte");
  EXPECT_DOUBLE_EQ(advice.values[0].value, 4096.0 / 3);
  EXPECT_EQ(advice.values[1].name, "ridge_flops_per_byte");
  EXPECT_DOUBLE_EQ(advice.values[1].value, 100);
}

TEST(Advice, OnLaunchesIsFewerOfThem) {
  DeviceRates slow_launch = kDevice;
  slow_launch.launch = Seconds(1e-3);
  const Matmul op = {.m = 8, .n = 100, .k = 100};
  const Advice advice = AdviceOn(op, slow_launch);
  EXPECT_THAT(advice, IsAdvice(AdviceKind::kFewerLaunches, StartsWith("launch-bound")));
  EXPECT_THAT(advice.values,
              ElementsAre(NoteValue{"launch_ratio", 1e-3 / Of(op, slow_launch).time.value()}));
}

TEST(Advice, OnCopiesIsToPinAndToOverlap) {
  HostCopy copy = {
      .bytes = 4, .pinned = false, .link = BytesPerSecond(1), .staging = BytesPerSecond(1)};
  EXPECT_THAT(AdviceOn(copy, kDevice), IsAdvice(AdviceKind::kPinHostMemory, HasSubstr("pin")));
  copy.pinned = true;
  EXPECT_THAT(AdviceOn(copy, kDevice), IsAdvice(AdviceKind::kOverlapCopy, HasSubstr("link")));
}

// A target that no size reaches must not loop for ever.
TEST(Advice, ComesForTheLargestSizes) {
  EXPECT_THAT(AdviceOn(Matmul{.m = kMaxDimension, .n = 1, .k = 1}, kDevice),
              IsAdvice(AdviceKind::kFuse, HasSubstr("at any m")));
  EXPECT_THAT(AdviceOn(Matmul{.m = 1, .n = kMaxDimension, .k = 1 << 20}, kDevice),
              IsAdvice(AdviceKind::kMoreRows, HasSubstr("until m = ")));
}

AchievedTime At(double ratio) {
  return {.flops = Flops(ratio * 800),
          .time = Seconds(2),
          .peak = FlopsPerSecond(100),
          .device_count = 4};
}

TEST(Utilisation, IsReadByItsBand) {
  using R = UtilisationReading;
  const struct {
    double ratio;
    R reading;
  } cases[] = {{1.01, R::kImpossible}, {1, R::kGood},       {0.5, R::kGood},
               {0.49, R::kUsual},      {0.3, R::kUsual},    {0.29, R::kLow},
               {0.1, R::kLow},         {0.05, R::kWaiting}, {0, R::kWaiting}};
  for (const auto& c : cases) {
    const auto utilisation = UtilisationOf(At(c.ratio));
    ASSERT_THAT(utilisation, IsOk());
    EXPECT_DOUBLE_EQ(utilisation->ratio, c.ratio);
    EXPECT_EQ(utilisation->reading, c.reading) << c.ratio;
    EXPECT_FALSE(utilisation->explanation.empty());
  }
}

TEST(Utilisation, OfAFewPercentNamesTheUsualCauses) {
  const std::string text(UtilisationOf(At(0.05))->explanation);
  for (const char* cause : {"data loader", "communication", "batches", "sparsity"}) {
    EXPECT_THAT(text, HasSubstr(cause));
  }
}

TEST(Utilisation, RefusesWhatIsNoTime) {
  for (const double bad : {0.0, -1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(
        UtilisationOf({.flops = Flops(-1),
                       .time = Seconds(bad),
                       .peak = FlopsPerSecond(bad),
                       .device_count = 0}),
        NamesFields(ElementsAre("flops", "seconds", "peak_flops_per_second", "device_count")));
  }
}

}  // namespace
}  // namespace sextant
