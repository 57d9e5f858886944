#include "engine/hardware/kernels/achieved_fraction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/hardware/catalogue.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

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

// No long search in tf32 or fp32 is published: the share is bf16's, which the citation says.
TEST(AchievedMatmulFraction, OfWiderTypesIsThatOfBf16) {
  const Accelerator& a100 = *AcceleratorNamed("a100-sxm-80");
  const AchievedFraction bf16 = AchievedMatmulFraction(a100, DataType::kBf16);
  const AchievedFraction tf32 = AchievedMatmulFraction(a100, DataType::kTf32);
  EXPECT_EQ(tf32.expected, bf16.expected);
  EXPECT_THAT(tf32.citation, HasSubstr("none of tf32 is published"));
  EXPECT_THAT(bf16.citation, Not(HasSubstr("none of")));
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
