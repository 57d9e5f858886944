// The kernels of memory_passes.cu, on a processor.
#include "tests/gpu_probe/cuda/kernels/emulation.h"
// After what it stands on.
#include <gtest/gtest.h>

#include <vector>

#include "gpu_probe/cuda/kernels/memory_passes.cu"

namespace sextant::probe {
namespace {

constexpr unsigned long long kSeedA = 11;
constexpr unsigned long long kSeedB = 1'000'000;
constexpr float kScalar = 3;
constexpr unsigned kBlocks = 3;
constexpr unsigned kThreads = 32;

// `count` vectors of whole numbers.
std::vector<float4> Whole(size_t count, unsigned long long seed) {
  std::vector<float4> out(count);
  Emulate(fill_whole_fp32, 2, 64, &out.data()->x, 4 * count, seed, 1.0f);
  return out;
}

std::vector<float4> Poisoned(size_t count) {
  return std::vector<float4>(count, make_float4(NAN, NAN, NAN, NAN));
}

Report CheckOf(const std::vector<float4>& c, float added, float of_a, float of_b) {
  return ReportOf(check_memory_pass, 2, 32, &c.data()->x, 4 * c.size(), kSeedA, kSeedB, added, of_a,
                  of_b);
}

// Sizes that fill the grid's turns, leave tails of all kinds, and are smaller than one turn.
class MemoryPassKernelsTest : public ::testing::TestWithParam<size_t> {
 protected:
  const size_t count_ = GetParam();
  const std::vector<float4> a_ = Whole(count_, kSeedA);
  const std::vector<float4> b_ = Whole(count_, kSeedB);
  std::vector<float4> c_ = Poisoned(count_);
};

TEST_P(MemoryPassKernelsTest, CopyWritesEveryElement) {
  Emulate(memory_pass_copy, kBlocks, kThreads, c_.data(), a_.data(), count_);
  for (size_t i = 0; i < count_; ++i) {
    ASSERT_EQ(c_[i].x, a_[i].x) << i;
    ASSERT_EQ(c_[i].w, a_[i].w) << i;
  }
  EXPECT_EQ(CheckOf(c_, 0, 1, 0).wrong_count, 0);
}

TEST_P(MemoryPassKernelsTest, WriteWritesEveryElement) {
  Emulate(memory_pass_write, kBlocks, kThreads, c_.data(), count_, kScalar);
  for (const float4& c : c_) ASSERT_EQ(c.x + c.y + c.z + c.w, 12);
  EXPECT_EQ(CheckOf(c_, kScalar, 0, 0).wrong_count, 0);
}

TEST_P(MemoryPassKernelsTest, ScaleAndTriadAreExact) {
  Emulate(memory_pass_scale, kBlocks, kThreads, c_.data(), a_.data(), count_, kScalar);
  for (size_t i = 0; i < count_; ++i) ASSERT_EQ(double{c_[i].y}, 3 * double{a_[i].y}) << i;
  EXPECT_EQ(CheckOf(c_, 0, kScalar, 0).wrong_count, 0);

  c_ = Poisoned(count_);
  Emulate(memory_pass_triad, kBlocks, kThreads, c_.data(), a_.data(), b_.data(), count_, kScalar);
  for (size_t i = 0; i < count_; ++i) {
    ASSERT_EQ(double{c_[i].z}, double{a_[i].z} + 3 * double{b_[i].z}) << i;
  }
  EXPECT_EQ(CheckOf(c_, 0, 1, kScalar).wrong_count, 0);
}

TEST_P(MemoryPassKernelsTest, ReadSumsUpEveryBit) {
  std::vector<unsigned> sums(kBlocks * kThreads, 0xFFFFFFFF);
  const auto* const bits = reinterpret_cast<const uint4*>(a_.data());
  Emulate(memory_pass_read, kBlocks, kThreads, sums.data(), bits, count_);
  unsigned expected = 0;
  for (size_t i = 0; i < count_; ++i) {
    unsigned words[4];
    std::memcpy(words, &a_[i], sizeof(words));
    for (const unsigned word : words) expected += word;
  }
  unsigned sum = 0;
  for (const unsigned part : sums) sum += part;
  EXPECT_EQ(sum, expected);

  const auto check = [&] {
    return ReportOf(check_memory_pass_read, kBlocks, kThreads, sums.data(), count_, kSeedA);
  };
  EXPECT_EQ(check().wrong_count, 0);
  sums[41] ^= 1u << 30;
  const Report report = check();
  EXPECT_EQ(report.wrong_count, 1);
  EXPECT_EQ(report.first_wrong, 41);
}

INSTANTIATE_TEST_SUITE_P(Sizes, MemoryPassKernelsTest,
                         ::testing::Values(1, 95, 96, 97, 384, 385, 1151, 1153, 4096));

TEST(MemoryPassCheckTest, FindsElementsThatWereNotWrittenAndWrongBits) {
  std::vector<float4> c = Whole(100, kSeedA);
  c[7].z = NAN;
  c[60].x = -c[60].x;
  const Report report = CheckOf(c, 0, 1, 0);
  EXPECT_EQ(report.wrong_count, 2);
  EXPECT_EQ(report.first_wrong, 7 * 4 + 2);
  EXPECT_EQ(CheckOf(Whole(100, kSeedA + 1), 0, 1, 0).first_wrong, 0) << "shifted by one place";
}

TEST(WholeNumbersTest, AreWholeBoundedAndAllOverTheirRange) {
  const std::vector<float4> numbers = Whole(50'000, kSeedA);
  double sum = 0;
  float least = 0;
  float most = 0;
  for (const float4& x : numbers) {
    ASSERT_EQ(x.x, std::floor(x.x));
    least = std::min(least, x.x);
    most = std::max(most, x.x);
    sum += x.x;
  }
  EXPECT_LT(least, -0.99 * (1 << 19));
  EXPECT_GE(least, -(1 << 19));
  EXPECT_GT(most, 0.99 * (1 << 19));
  EXPECT_LT(most, 1 << 19);
  EXPECT_NEAR(sum / 50'000 / (1 << 19), 0, 0.01);
}

TEST(BitsTest, AreRightAsTheyAreAndWrongWithOneBitChanged) {
  std::vector<unsigned long long> bits(1001, 0);
  Emulate(fill_bits, 2, 33, bits.data(), bits.size(), kSeedB);
  EXPECT_EQ(ReportOf(check_bits, 1, 64, bits.data(), bits.size(), kSeedB).wrong_count, 0);
  bits[1000] ^= 1;
  bits[500] = 0xA5A5A5A5A5A5A5A5;
  const Report report = ReportOf(check_bits, 1, 64, bits.data(), bits.size(), kSeedB);
  EXPECT_EQ(report.wrong_count, 2);
  EXPECT_EQ(report.first_wrong, 500);
}

}  // namespace
}  // namespace sextant::probe
