#include "engine/time/predict_experts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hardware/catalogue.h"
#include "engine/operation/analysis.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

absl::optional<OperationPrediction> Layer(absl::string_view product, const Experts& experts,
                                          DataType type = DataType::kBf16) {
  const PredictedDevice devices[] = {{.accelerator = AcceleratorNamed(product)}};
  return *PredictOperation(experts, type, devices, DeviceJoin::kSlowest);
}

constexpr Experts kMixtral = {.tokens = 16384,
                              .hidden_size = 4096,
                              .feed_forward_size = 14336,
                              .expert_count = 8,
                              .experts_per_token = 2,
                              .expert_parallel_size = 8};

// 4096 rows of 6 x 4096 x 14336 FLOPs: 1.44e12, at between 30 and 90 % of 989.4e12 FLOP/s.
TEST(PredictExperts, OfAMeasuredProductStandsOnPublishedLayers) {
  for (const char* product : {"h100-sxm", "h200-sxm"}) {
    const auto layer = Layer(product, kMixtral);
    ASSERT_TRUE(layer.has_value());
    EXPECT_EQ(layer->source.source, RateSource::kReference);
    EXPECT_THAT(layer->source.citation, HasSubstr("layers of experts"));
    const double least = 6.0 * 4096 * 4096 * 14336 / 989.4e12;
    EXPECT_GT(layer->forward.expected.value(), least / 0.9) << product;
    EXPECT_LT(layer->forward.expected.value(), least / 0.3) << product;
    EXPECT_LT(layer->forward.low, layer->forward.expected);
    EXPECT_LT(layer->forward.expected, layer->forward.high);
  }
}

TEST(PredictExperts, BackwardIsTwoGradientsAProduct) {
  const auto layer = Layer("h100-sxm", kMixtral);
  ASSERT_TRUE(layer.has_value());
  EXPECT_EQ(layer->backward.expected, layer->forward.expected * 2.0);
  EXPECT_EQ(layer->backward.basis, KernelBasis::kOtherPass);
  EXPECT_EQ(layer->backward.low, layer->forward.low * (2 * kExpertsBackward.low));
  EXPECT_EQ(layer->backward.high, layer->forward.high * (2 * kExpertsBackward.high));
}

// Twice the tokens, twice the experts' width, and the tokens of fewer devices each take longer.
TEST(PredictExperts, GrowsWithItsWork) {
  for (const char* product : {"a100-sxm-80", "h100-sxm", "b200-sxm", "mi300x"}) {
    const Seconds time = Layer(product, kMixtral)->forward.expected;
    for (int64_t Experts::*size :
         {&Experts::tokens, &Experts::hidden_size, &Experts::feed_forward_size}) {
      Experts larger = kMixtral;
      larger.*size *= 2;
      EXPECT_GT(Layer(product, larger)->forward.expected, time) << product;
    }
    Experts fewer_devices = kMixtral;
    fewer_devices.expert_parallel_size = 4;
    EXPECT_GT(Layer(product, fewer_devices)->forward.expected, time) << product;
  }
}

TEST(PredictExperts, WithoutAGateAreFewerProducts) {
  Experts ungated = kMixtral;
  ungated.gated = false;
  const auto layer = Layer("h200-sxm", ungated);
  ASSERT_TRUE(layer.has_value());
  EXPECT_THAT(layer->source.citation, HasSubstr("nongated"));
}

TEST(PredictExperts, AreAbsentWhereNothingIsKnown) {
  EXPECT_FALSE(Layer("v100-sxm-16", kMixtral, DataType::kFp8E4m3).has_value());
  const auto none = PredictExperts(kMixtral, DataType::kBf16, {});
  ASSERT_THAT(none, IsOk());
  EXPECT_FALSE(none->has_value());
}

// A shape of the hardware's and an operation count the same rows, weights and FLOPs.
TEST(ExpertsShapes, CountTheRowsThatOperationsDo) {
  for (const int64_t devices : {1, 2, 8}) {
    for (const bool gated : {true, false}) {
      Experts experts = kMixtral;
      experts.expert_parallel_size = devices;
      experts.gated = gated;
      const GroupedGemmShape shape = LayerShapeOf(experts);
      const auto analysis = AnalyzeOperation({experts, {.input = DataType::kBf16}}, "");
      ASSERT_THAT(analysis, IsOk());
      EXPECT_EQ(GroupedGemmFlops(shape), analysis->forward.sum.matrix_flops.value());
      EXPECT_EQ(ExpertRows(shape), static_cast<double>(DeviceRows(experts)));
    }
  }
}

}  // namespace
}  // namespace sextant
