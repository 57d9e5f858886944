#include "engine/hardware/predict/grouped_matmul_predictor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "engine/hardware/catalogue.h"
#include "engine/hardware/kernels/prediction_error.h"
#include "engine/hardware/reference/reference_kernels.h"
#include "tests/engine/hardware/device_models.h"
#include "tests/engine/hardware/kernels/made_kernels.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

constexpr ExpertsKind kBf16Gated = {DataType::kBf16, true};

GroupedMatmulShape Layer(int64_t tokens, int64_t hidden, int64_t parallel) {
  return {.tokens = tokens,
          .hidden = hidden,
          .intermediate = hidden / 2,
          .experts_per_token = 8,
          .experts = 64,
          .expert_parallel = parallel,
          .gated = true};
}

// A plain device: 600e12 FLOP/s, weights at 3e12 bytes a second, and a launch.
double PlainLayerSeconds(const GroupedMatmulShape& shape) {
  const double rows = static_cast<double>(shape.tokens * shape.experts_per_token) /
                      static_cast<double>(shape.expert_parallel);
  const double weights = static_cast<double>(3 * shape.hidden * shape.intermediate);
  const auto local = static_cast<double>(shape.experts / shape.expert_parallel);
  return 20e-6 + 2 * rows * weights / 600e12 + 2 * local * weights / 3e12;
}

std::vector<GroupedMatmulPoint> Points() {
  std::vector<GroupedMatmulPoint> out;
  for (const int64_t tokens : {256, 1024, 4096, 16384}) {
    for (const int64_t hidden : {2048, 4096, 7168}) {
      for (const int64_t parallel : {1, 4}) {
        const GroupedMatmulShape shape = Layer(tokens, hidden, parallel);
        out.push_back({.shape = shape, .time = Seconds(PlainLayerSeconds(shape))});
      }
    }
  }
  return out;
}

DeviceCalibration Device(const Accelerator* accelerator) {
  return SomeGpu(accelerator, {.size = 8192, .flops_per_second = 600e12, .bytes_per_second = 3e12});
}

absl::StatusOr<absl::optional<GroupedMatmulPredictor>> OfMeasured(const MeasuredKernels& measured,
                                                                  ExpertsKind kind) {
  return GroupedMatmulPredictor::OfMeasured(
      measured, kind, [&](MatmulType type) { return MatmulPredictor::OfMeasured(measured, type); });
}

GroupedMatmulPredictor PredictorOf(const MeasuredKernels& measured, ExpertsKind kind) {
  auto out = OfMeasured(measured, kind);
  EXPECT_THAT(out, IsOk());
  EXPECT_TRUE(out->has_value());
  return **out;
}

TEST(GroupedMatmulPredictor, OfADeviceStandsOnItsOwnLayersFirst) {
  const DeviceCalibration device = Device(AcceleratorNamed("h100-sxm"));
  const MeasuredKernels measured = {.calibration = &device,
                                    .experts = {{DataType::kBf16, Points()}}};
  const GroupedMatmulPredictor predictor = PredictorOf(measured, kBf16Gated);
  EXPECT_EQ(predictor.source().source, RateSource::kMeasuredSupplied);
  EXPECT_EQ(predictor.source().form, PredictionForm::kTerms);
  EXPECT_EQ(predictor.source().error.shape_count, 24);
  for (const int64_t tokens : {512, 2048, 6144}) {
    const GroupedMatmulShape shape = Layer(tokens, 5120, 2);
    const KernelTime time = predictor.Predict(shape);
    EXPECT_NEAR(time.expected.value() / PlainLayerSeconds(shape), 1, 0.05);
    EXPECT_EQ(time.basis, KernelBasis::kWithinGrid);
  }
  // Layers without a gate, and other types, weren't measured: the next source.
  EXPECT_EQ(PredictorOf(measured, {DataType::kBf16, false}).source().source,
            RateSource::kReference);
  EXPECT_EQ(PredictorOf(measured, {DataType::kFp8E4m3, true}).source().source,
            RateSource::kReference);
}

// fp16 has no table, and bf16's is of a type like it.
TEST(GroupedMatmulPredictor, OfALikeTypeIsWiderAndSaysSo) {
  const Accelerator& h100 = *AcceleratorNamed("h100-sxm");
  const auto bf16 = GroupedMatmulPredictor::OfAccelerator(h100, kBf16Gated);
  const auto fp16 = GroupedMatmulPredictor::OfAccelerator(h100, {DataType::kFp16, true});
  ASSERT_TRUE(bf16.has_value() && fp16.has_value());
  const GroupedMatmulShape shape = Layer(4096, 4096, 4);
  EXPECT_EQ(bf16->Predict(shape).basis, KernelBasis::kWithinGrid);
  EXPECT_EQ(fp16->Predict(shape).basis, KernelBasis::kOtherType);
  EXPECT_EQ(fp16->Predict(shape).expected, bf16->Predict(shape).expected);
  EXPECT_LT(fp16->Predict(shape).low, bf16->Predict(shape).low);
  const DeviceCalibration device = Device(&h100);
  EXPECT_EQ(PredictorOf({.calibration = &device, .experts = {{DataType::kBf16, Points()}}},
                        {DataType::kFp16, true})
                .source()
                .source,
            RateSource::kMeasuredSupplied);
}

// Large experts are their FLOPs: 2 x 65536 rows of 3 x 8192 x 4096 weights at 600e12 FLOP/s, 10 %
// more for a product under ceilings, 50 % more for a layer.
TEST(GroupedMatmulPredictor, OfADeviceWithoutLayersIsTheSumOfProducts) {
  const DeviceCalibration device = Device(nullptr);
  const GroupedMatmulPredictor predictor = PredictorOf({.calibration = &device}, kBf16Gated);
  EXPECT_EQ(predictor.source().form, PredictionForm::kProducts);
  EXPECT_THAT(predictor.source().citation, HasSubstr("sum of an expert's products"));
  GroupedMatmulShape shape = Layer(32768, 8192, 4);
  const KernelTime time = predictor.Predict(shape);
  const double flops = 2 * 65536.0 * 3 * 8192 * 4096;
  EXPECT_NEAR(time.expected.value() / (1.5 * 1.1 * flops / 600e12), 1, 0.04);
  EXPECT_EQ(time.basis, KernelBasis::kMeasuredRate);
  // A token asks for 8 of 64 experts: reading their weights is all.
  shape = Layer(1, 8192, 1);
  const double weight_bytes = 8 * 2 * 3 * 8192.0 * 4096;
  EXPECT_NEAR(predictor.Predict(shape).expected.value() / (1.5 * weight_bytes / 3e12), 1, 0.1);
}

// 8 x 4096 rows of 8192 x 8192 weights at 600e12 FLOP/s, 10 % more for a product under ceilings, 5
// % less in a group; the gradients have as many FLOPs.
TEST(GroupedMatmulPredictor, OneProductIsItsFlopsOrItsWeights) {
  const DeviceCalibration device = Device(nullptr);
  const GroupedMatmulPredictor predictor = PredictorOf({.calibration = &device}, kBf16Gated);
  GroupedProduct product = {.experts = 8, .rows_per_expert = 4096, .n = 8192, .k = 8192};
  const double flops = 2 * 8 * 4096.0 * 8192 * 8192;
  for (const MatmulPass pass :
       {MatmulPass::kForward, MatmulPass::kInputGradient, MatmulPass::kWeightGradient}) {
    product.pass = pass;
    const KernelTime time = predictor.PredictProduct(product);
    EXPECT_NEAR(time.expected.value() / (1.1 * flops / 600e12), 1, 0.04);
    EXPECT_GE(time.high.value() / time.expected.value(), 1.75);
    EXPECT_LT(time.low, time.expected);
  }
  // A row each: reading 64 x 8192 x 8192 weights of 2 bytes at 3e12 bytes a second takes 2.86 ms,
  // multiplying tiles of 64 rows 0.92 ms: 3.01 ms together (docs/kernels.md, "Roofline").
  product = {.experts = 64, .rows_per_expert = 1, .n = 8192, .k = 8192};
  const double reading = 64 * 2 * 8192.0 * 8192 / 3e12;
  const double one_each = predictor.PredictProduct(product).expected.value();
  EXPECT_NEAR(one_each / (1.1 * reading), 3.01 / 2.86, 0.03);
  // A tile is worked on as a whole, and half of the experts are read for half as many rows.
  product.rows_per_expert = 64;
  EXPECT_EQ(predictor.PredictProduct(product).expected.value(), one_each);
  product.rows_per_expert = 65;
  EXPECT_GT(predictor.PredictProduct(product).expected.value(), one_each);
  product.rows_per_expert = 0.5;
  EXPECT_NEAR(predictor.PredictProduct(product).expected.value() / one_each, 0.5, 0.01);
}

// Where no product was measured, it is a share of the layers: a third of a gated one's FLOPs.
TEST(GroupedMatmulPredictor, OneProductIsAShareOfLayersWithoutDenseProducts) {
  DeviceCalibration device = SomeGpu(nullptr);
  const MeasuredKernels measured = {.calibration = &device,
                                    .experts = {{DataType::kBf16, Points()}}};
  const GroupedMatmulPredictor predictor = PredictorOf(measured, kBf16Gated);
  const KernelTime time =
      predictor.PredictProduct({.experts = 16, .rows_per_expert = 2048, .n = 2048, .k = 4096});
  const double flops = 2 * 16 * 2048.0 * 2048 * 4096;
  EXPECT_NEAR(time.expected.value() / (flops / 600e12), 1, 0.35);
  EXPECT_EQ(time.basis, KernelBasis::kOtherPass);
}

// H100 has published layers in fp8 with a scale per block only with a gate.
TEST(GroupedMatmulPredictor, ScalesPerBlockAreLayersOfTheirOwn) {
  const Accelerator& h100 = *AcceleratorNamed("h100-sxm");
  const auto of = [&](bool gated, absl::optional<MatmulScaling> scaling) {
    return *GroupedMatmulPredictor::OfAccelerator(
        h100, {.type = DataType::kFp8E4m3, .gated = gated, .scaling = scaling});
  };
  const GroupedMatmulShape shape = Layer(4096, 4096, 4);
  const KernelTime usual = of(true, {}).Predict(shape);
  EXPECT_EQ(of(true, MatmulScaling::kTensor).Predict(shape).expected, usual.expected);
  const KernelTime block = of(true, MatmulScaling::kBlock).Predict(shape);
  EXPECT_NE(block.expected, usual.expected);
  EXPECT_EQ(block.basis, KernelBasis::kWithinGrid);
  const KernelTime ungated = of(false, {}).Predict(shape);
  const KernelTime ungated_block = of(false, MatmulScaling::kBlock).Predict(shape);
  EXPECT_EQ(ungated_block.expected, ungated.expected);
  EXPECT_EQ(ungated_block.basis, KernelBasis::kOtherType);
  EXPECT_LT(ungated_block.low, ungated.low);
  EXPECT_GT(ungated_block.high, ungated.high);
  // A device's own layers have a scale per tensor, so published ones come first.
  const DeviceCalibration device = Device(&h100);
  const MeasuredKernels measured = {.calibration = &device,
                                    .experts = {{DataType::kFp8E4m3, Points()}}};
  EXPECT_EQ(
      PredictorOf(measured, {DataType::kFp8E4m3, true, MatmulScaling::kBlock}).source().source,
      RateSource::kReference);
  EXPECT_EQ(PredictorOf(measured, {DataType::kFp8E4m3, true}).source().source,
            RateSource::kMeasuredSupplied);
}

TEST(GroupedMatmulPredictor, IsAbsentWhereNothingIsKnown) {
  DeviceCalibration device;
  const auto predictor = OfMeasured({.calibration = &device}, kBf16Gated);
  ASSERT_THAT(predictor, IsOk());
  EXPECT_FALSE(predictor->has_value());
  EXPECT_FALSE(GroupedMatmulPredictor::OfAccelerator(*AcceleratorNamed("v100-sxm-16"),
                                                     {DataType::kFp8E4m3, true})
                   .has_value());
}

TEST(GroupedMatmulPredictor, IsFiniteAndOrderedOnEveryProduct) {
  for (const Accelerator& accelerator : Accelerators()) {
    for (const DataType type : {DataType::kBf16, DataType::kFp8E4m3, DataType::kNvfp4}) {
      for (const bool gated : {false, true}) {
        const auto predictor = GroupedMatmulPredictor::OfAccelerator(accelerator, {type, gated});
        if (!predictor.has_value()) continue;
        for (const int64_t size : {int64_t{1}, int64_t{4096}, int64_t{1} << 40}) {
          const GroupedMatmulShape layer = {.tokens = size,
                                            .hidden = size,
                                            .intermediate = size,
                                            .experts_per_token = 1,
                                            .experts = size,
                                            .expert_parallel = 1};
          EXPECT_TRUE(IsSound(predictor->Predict(layer))) << accelerator.name;
          for (const MatmulPass pass : {MatmulPass::kForward, MatmulPass::kWeightGradient}) {
            const GroupedProduct product = {.experts = size,
                                            .rows_per_expert = static_cast<double>(size) / 3,
                                            .n = size,
                                            .k = size,
                                            .pass = pass};
            EXPECT_TRUE(IsSound(predictor->PredictProduct(product))) << accelerator.name;
          }
        }
      }
    }
  }
}

// The published layers show the errors that ErrorOfExpertsByMatmuls() states.
TEST(ExpertsByMatmuls, ComparesWithPublishedLayersAsStated) {
  std::vector<double> wide;
  std::vector<double> narrow;
  for (const absl::Span<const GroupedMatmulReference> of_device : GroupedMatmulReferences()) {
    for (const GroupedMatmulReference& reference : of_device) {
      if (reference.block_scaled) continue;  // another recipe than UsualMatmulType()'s
      const DataType type = reference.data_type;
      const Accelerator& product = *AcceleratorNamed(reference.device);
      const auto matmuls = MatmulPredictor::OfAccelerator(product, type);
      const BytesPerSecond memory = DatasheetCeilings(product, type)->ceilings.memory;
      for (const GroupedMatmulPoint& point : PointsOf(reference)) {
        const Seconds sum =
            ExpertsByMatmuls(point.shape, {.matmuls = *matmuls, .memory = memory, .type = type});
        (IsNarrow(type) ? narrow : wide).push_back(point.time.value() / sum.value());
      }
    }
  }
  const auto expect_stated = [](DataType type, const std::vector<double>& ratios) {
    const PredictionError seen = ErrorOf(ratios);
    const PredictionError stated = ErrorOfExpertsByMatmuls(type);
    EXPECT_NEAR(stated.p10, seen.p10, 0.01);
    EXPECT_NEAR(stated.median, seen.median, 0.01);
    EXPECT_NEAR(stated.p90, seen.p90, 0.02);
  };
  expect_stated(DataType::kBf16, wide);
  expect_stated(DataType::kFp8E4m3, narrow);
}

// kPermutedLayerBytes: four passes over the rows, in bf16, as shares of the published layers.
TEST(ExpertsByMatmuls, PermutingIsAsMuchOfPublishedLayersAsStated) {
  double most = 0;
  for (const absl::Span<const GroupedMatmulReference> of_device : GroupedMatmulReferences()) {
    for (const GroupedMatmulReference& reference : of_device) {
      const Accelerator& product = *AcceleratorNamed(reference.device);
      const BytesPerSecond memory = DatasheetCeilings(product, DataType::kBf16)->ceilings.memory;
      std::vector<double> shares;
      for (const GroupedMatmulPoint& point : PointsOf(reference)) {
        const double moved =
            kPermutedLayerBytes * ExpertRows(point.shape) * static_cast<double>(point.shape.hidden);
        shares.push_back(moved / memory.value() / point.time.value());
      }
      most = std::max(most, ErrorOf(shares).p90);
    }
  }
  EXPECT_NEAR(most, 0.22, 0.01);
}

}  // namespace
}  // namespace sextant
