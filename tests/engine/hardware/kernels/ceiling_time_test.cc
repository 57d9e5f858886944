// Times by a device's ceilings, the shares of datasheets that kernels achieve, and intervals.
#include "engine/hardware/kernels/ceiling_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "engine/hardware/catalogue.h"
#include "engine/hardware/kernels/achieved_fraction.h"
#include "engine/hardware/kernels/prediction_error.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

constexpr KernelCeilings kCeilings = {.matrix = FlopsPerSecond(1e12),
                                      .memory = BytesPerSecond(1e9),
                                      .floor = Seconds(1e-3),
                                      .basis = KernelBasis::kMeasuredRate};

// 3 s of arithmetic and 4 s of memory overlap to 5 s; the shortest kernel adds 1 ms.
TEST(TimeUnderCeilings, JoinsBothCeilings) {
  const PredictionError error = ErrorUnderCeilings(kCeilings.basis, DataType::kBf16);
  const KernelTime time =
      TimeUnderCeilings({.flops = Flops(3e12), .moved_bytes = 4e9}, kCeilings, error);
  EXPECT_NEAR(time.expected.value(), 5.001 * error.median, 1e-12);
  EXPECT_NEAR(time.low.value(), 5.001 * error.p10, 1e-12);
  EXPECT_NEAR(time.high.value(), 5.001 * error.p90, 1e-12);
  EXPECT_EQ(time.basis, KernelBasis::kMeasuredRate);
}

TEST(TimeUnderCeilings, NothingToDoTakesTheFloor) {
  const KernelTime time =
      TimeUnderCeilings({}, kCeilings, ErrorUnderCeilings(kCeilings.basis, DataType::kBf16));
  EXPECT_GT(time.low.value(), 0.9e-3);
  EXPECT_LT(time.high.value(), 1.4e-3);
}

// Less certain times have wider intervals, and narrow types the widest.
TEST(ErrorUnderCeilings, WidensWithWhatIsNotKnown) {
  const auto width = [](KernelBasis basis, DataType type) {
    const PredictionError e = ErrorUnderCeilings(basis, type);
    EXPECT_LT(e.p10, e.median);
    EXPECT_LT(e.median, e.p90);
    return std::log(e.p90 / e.p10);
  };
  for (const DataType type : {DataType::kBf16, DataType::kTf32, DataType::kFp8E4m3}) {
    EXPECT_LT(width(KernelBasis::kMeasuredRate, type), width(KernelBasis::kDatasheet, type));
  }
  EXPECT_LT(width(KernelBasis::kDatasheet, DataType::kTf32),
            width(KernelBasis::kDatasheet, DataType::kInt8));
}

AchievedFraction FractionOf(absl::string_view product, DataType type) {
  return AchievedMatmulFraction(*AcceleratorNamed(product), type);
}

TEST(AchievedMatmulFraction, IsThePublishedRateOverTheCataloguesPeak) {
  const AchievedFraction h100 = FractionOf("h100-sxm", DataType::kBf16);
  EXPECT_NEAR(h100.expected, 0.803, 0.001);  // 794.5 of 989
  EXPECT_EQ(h100.low, h100.expected);
  EXPECT_EQ(h100.high, h100.expected);
  const AchievedFraction fp8 = FractionOf("h100-sxm", DataType::kFp8E4m3);
  EXPECT_NEAR(fp8.expected, 0.709, 0.001);  // 1402.6 of 1979
}

// 116 of 156e12 in tf32; an H100 has the median of that and of an A6000's 60 of 77.4e12.
TEST(AchievedMatmulFraction, OfWiderTypesIsThatOfSquareProducts) {
  EXPECT_NEAR(FractionOf("a100-sxm-80", DataType::kTf32).expected, 116.0 / 156, 1e-9);
  const AchievedFraction h100 = FractionOf("h100-sxm", DataType::kTf32);
  EXPECT_NEAR(h100.expected, (116.0 / 156 + 60 / 77.4) / 2, 1e-9);
  EXPECT_THAT(h100.citation, HasSubstr("mli/transformers-benchmarks"));
  const AchievedFraction fp32 = FractionOf("a100-sxm-80", DataType::kFp32);
  EXPECT_NEAR(fp32.expected, 14 / 15.7, 1e-9);
  // No such product of AMD's is published: the share is bf16's, and is said to be.
  const AchievedFraction amd = FractionOf("mi300x", DataType::kFp32);
  EXPECT_EQ(amd.expected, FractionOf("mi300x", DataType::kBf16).expected);
  EXPECT_THAT(amd.citation, HasSubstr("none in fp32 is published"));
}

// Nobody published one of the H100 PCIe: seven of NVIDIA's have one in bf16, with the H100 SXM's
// 0.803 in their middle, and the highest and the lowest are A100's and B200's.
TEST(AchievedMatmulFraction, OfAnotherProductIsItsVendorsMedian) {
  const AchievedFraction out = FractionOf("h100-pcie", DataType::kFp16);
  EXPECT_NEAR(out.expected, 0.803, 0.001);
  EXPECT_NEAR(out.low, 1745.0 / 2250, 1e-9);
  EXPECT_NEAR(out.high, 271.2 / 312, 1e-9);
  EXPECT_THAT(out.citation, HasSubstr("none of h100-pcie: the median of 7 products of NVIDIA"));
}

// The three of AMD's were measured in bf16 alone, so that fp8 stands on all vendors'.
TEST(AchievedMatmulFraction, OfAVendorWithoutOneIsTheMedianOfAll) {
  const AchievedFraction out = FractionOf("mi300x", DataType::kFp8E4m3);
  EXPECT_THAT(out.citation, HasSubstr("the median of 7 products"));
  EXPECT_NEAR(out.expected, 3432.5 / 4500, 1e-9);
}

TEST(AchievedFractions, AreSharesOfEveryAcceleratorsPeak) {
  for (const Accelerator& accelerator : Accelerators()) {
    for (const AchievedFraction& f : {AchievedMatmulFraction(accelerator, DataType::kBf16),
                                      AchievedMatmulFraction(accelerator, DataType::kFp8E4m3),
                                      AchievedBandwidthFraction(accelerator)}) {
      EXPECT_GT(f.low, 0.4) << accelerator.name;
      EXPECT_LE(f.low, f.expected) << accelerator.name;
      EXPECT_LE(f.expected, f.high) << accelerator.name;
      EXPECT_LT(f.high, 1) << accelerator.name;
      EXPECT_FALSE(f.citation.empty());
    }
  }
}

// Eleven ratios, so that quantiles are ranks: 0.80, 0.84, ... 1.20.
TEST(ErrorOf, HasTheQuantilesOfTheRatios) {
  std::vector<double> ratios;
  for (int i = 10; i >= 0; --i) ratios.push_back(0.8 + 0.04 * i);
  const PredictionError error = ErrorOf(ratios);
  EXPECT_DOUBLE_EQ(error.p10, 0.84);
  EXPECT_DOUBLE_EQ(error.median, 1.0);
  EXPECT_DOUBLE_EQ(error.p90, 1.16);
  EXPECT_EQ(error.shape_count, 11);
  // |1 / ratio - 1|, the largest being 0.25, then 1 / 0.84 - 1.
  EXPECT_NEAR(error.p90_absolute, 1 / 0.84 - 1, 1e-12);
}

TEST(TimeWithin, HoldsTheExpectedTime) {
  // All ratios above 1: the low end stays at the expected time.
  const KernelTime time =
      TimeWithin(2, ErrorOf({1.1, 1.1, 1.1}), {.low = 0.5, .high = 3}, KernelBasis::kOtherPass);
  EXPECT_DOUBLE_EQ(time.expected.value(), 2);
  EXPECT_DOUBLE_EQ(time.low.value(), 1);
  EXPECT_DOUBLE_EQ(time.high.value(), 6.6);
  EXPECT_EQ(time.basis, KernelBasis::kOtherPass);
}

}  // namespace
}  // namespace sextant
