#include "engine/hardware/kernels/achieved_fraction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hardware/catalogue.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

TEST(AchievedMatmulFraction, IsThePublishedRateOverTheCataloguesPeak) {
  const AchievedFraction h100 =
      AchievedMatmulFraction(*AcceleratorNamed("h100-sxm"), DataType::kBf16);
  EXPECT_NEAR(h100.expected, 0.803, 0.001);  // 794.5 of 989
  EXPECT_EQ(h100.low, h100.expected);
  EXPECT_EQ(h100.high, h100.expected);
  const AchievedFraction fp8 =
      AchievedMatmulFraction(*AcceleratorNamed("h100-sxm"), DataType::kFp8E4m3);
  EXPECT_NEAR(fp8.expected, 0.709, 0.001);  // 1402.6 of 1979
}

// 116 of 156e12 in tf32; an H100 has the median of that and of an A6000's 60 of 77.4e12.
TEST(AchievedMatmulFraction, OfWiderTypesIsThatOfSquareProducts) {
  const Accelerator& a100 = *AcceleratorNamed("a100-sxm-80");
  EXPECT_NEAR(AchievedMatmulFraction(a100, DataType::kTf32).expected, 116.0 / 156, 1e-9);
  const AchievedFraction h100 =
      AchievedMatmulFraction(*AcceleratorNamed("h100-sxm"), DataType::kTf32);
  EXPECT_NEAR(h100.expected, (116.0 / 156 + 60 / 77.4) / 2, 1e-9);
  EXPECT_THAT(h100.citation, HasSubstr("mli/transformers-benchmarks"));
  const AchievedFraction fp32 = AchievedMatmulFraction(a100, DataType::kFp32);
  EXPECT_NEAR(fp32.expected, 14 / 15.7, 1e-9);
  // No such product of AMD's is published: the share is bf16's, and is said to be.
  const Accelerator& mi300x = *AcceleratorNamed("mi300x");
  const AchievedFraction amd = AchievedMatmulFraction(mi300x, DataType::kFp32);
  EXPECT_EQ(amd.expected, AchievedMatmulFraction(mi300x, DataType::kBf16).expected);
  EXPECT_THAT(amd.citation, HasSubstr("none in fp32 is published"));
}

// Nobody published one of the H100 PCIe: seven of NVIDIA's have one in bf16, with the H100 SXM's
// 0.803 in their middle, and the highest and the lowest are A100's and B200's.
TEST(AchievedMatmulFraction, OfAnotherProductIsItsVendorsMedian) {
  const AchievedFraction out =
      AchievedMatmulFraction(*AcceleratorNamed("h100-pcie"), DataType::kFp16);
  EXPECT_NEAR(out.expected, 0.803, 0.001);
  EXPECT_NEAR(out.low, 1745.0 / 2250, 1e-9);
  EXPECT_NEAR(out.high, 271.2 / 312, 1e-9);
  EXPECT_THAT(out.citation, HasSubstr("none of h100-pcie: the median of 7 products of NVIDIA"));
}

// The three of AMD's were measured in bf16 alone, so that fp8 stands on all vendors'.
TEST(AchievedMatmulFraction, OfAVendorWithoutOneIsTheMedianOfAll) {
  const AchievedFraction out =
      AchievedMatmulFraction(*AcceleratorNamed("mi300x"), DataType::kFp8E4m3);
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

}  // namespace
}  // namespace sextant
