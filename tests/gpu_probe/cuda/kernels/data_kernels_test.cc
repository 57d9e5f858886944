// The kernels of data.cu, on a processor.
#include "tests/gpu_probe/cuda/kernels/emulation.h"
// After what it stands on.
#include <gtest/gtest.h>

#include <vector>

#include "gpu_probe/cuda/kernels/data.cu"

namespace sextant::probe {
namespace {

constexpr unsigned long long kSeed = 12345;

TEST(DataKernelsTest, NormalNumbersHaveTheirMomentsAndReachEveryElement) {
  constexpr size_t kCount = 200'001;  // not a multiple of the grid's threads
  std::vector<float> out(kCount, NAN);
  Emulate(fill_normal_fp32, 8, 64, out.data(), kCount, kSeed);
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  for (const float x : out) {
    ASSERT_TRUE(std::isfinite(x));
    ASSERT_LT(std::abs(x), 6.8);
    sum += x;
    squares += double{x} * x;
    fourths += std::pow(double{x}, 4);
  }
  EXPECT_NEAR(sum / kCount, 0, 0.01);
  EXPECT_NEAR(squares / kCount, 1, 0.01);
  EXPECT_NEAR(fourths / kCount, 3, 0.1);  // a normal distribution's; a uniform one's is 1.8
}

TEST(DataKernelsTest, NumbersDependOnTheirPlaceAlone) {
  std::vector<float> one(1000);
  std::vector<float> other(500);
  Emulate(fill_normal_fp32, 1, 1, one.data(), one.size(), kSeed);
  Emulate(fill_normal_fp32, 3, 32, other.data(), other.size(), kSeed + 500);
  EXPECT_EQ(std::vector<float>(one.begin() + 500, one.end()), other);
}

TEST(DataKernelsTest, Bf16IsTheNearestToTheNumberOfThatPlace) {
  std::vector<float> wide(4096);
  std::vector<unsigned short> narrow(4096);
  Emulate(fill_normal_fp32, 4, 32, wide.data(), wide.size(), kSeed);
  Emulate(fill_normal_bf16, 2, 64, narrow.data(), narrow.size(), kSeed);
  for (size_t i = 0; i < wide.size(); ++i) {
    EXPECT_LE(std::abs(FromBf16(narrow[i]) - wide[i]), std::abs(wide[i]) * 0x1p-8) << i;
  }
}

}  // namespace
}  // namespace sextant::probe
