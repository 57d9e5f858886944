// The kernels of data.cu and the formats that they write, on a processor.
#include "tests/gpu_probe/cuda/kernels/emulation.h"
// After what it stands on.
#include <gtest/gtest.h>

#include <vector>

#include "gpu_probe/cuda/kernels/data.cu"

namespace sextant::probe {
namespace {

constexpr unsigned long long kNormalSeed = 12345;
constexpr unsigned long long kSeed = 4711;

TEST(DataKernelsTest, NormalNumbersHaveTheirMomentsAndReachEveryElement) {
  constexpr size_t kCount = 200'001;  // not a multiple of the grid's threads
  std::vector<float> out(kCount, NAN);
  Emulate(fill_normal_fp32, 8, 64, out.data(), kCount, kNormalSeed);
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
  Emulate(fill_normal_fp32, 1, 1, one.data(), one.size(), kNormalSeed);
  Emulate(fill_normal_fp32, 3, 32, other.data(), other.size(), kNormalSeed + 500);
  EXPECT_EQ(std::vector<float>(one.begin() + 500, one.end()), other);
}

TEST(DataKernelsTest, Bf16IsTheNearestToTheNumberOfThatPlace) {
  std::vector<float> wide(4096);
  std::vector<unsigned short> narrow(4096);
  Emulate(fill_normal_fp32, 4, 32, wide.data(), wide.size(), kNormalSeed);
  Emulate(fill_normal_bf16, 2, 64, narrow.data(), narrow.size(), kNormalSeed);
  for (size_t i = 0; i < wide.size(); ++i) {
    EXPECT_LE(std::abs(FromBf16(narrow[i]) - wide[i]), std::abs(wide[i]) * 0x1p-8) << i;
  }
}

// Checks that `to` rounds to the nearest of all values that `from` gives for `count` codes, with
// ties to the even code.
template <typename From, typename To>
void ExpectNearest(int count, double most, From from, To to) {
  for (int i = 0; i < 20'000; ++i) {
    const float value = static_cast<float>(most * std::sin(0.37 * i) * std::pow(2.0, -(i % 24)));
    const int code = static_cast<int>(to(value));
    const double error = std::abs(double{from(code)} - value);
    for (int other = 0; other < count; ++other) {
      const double its_error = std::abs(double{from(other)} - value);
      if (std::isnan(its_error)) continue;
      ASSERT_LE(error, its_error) << value << " became " << code << ", not " << other;
    }
    ASSERT_EQ(std::signbit(from(code)), std::signbit(value)) << value;
  }
}

// Halfway between two codes the even one.
template <typename From, typename To>
void ExpectTiesToEven(int first, int end, From from, To to) {
  for (int code = first; code + 1 < end; ++code) {
    const auto middle = static_cast<float>((double{from(code)} + double{from(code + 1)}) / 2);
    EXPECT_EQ(static_cast<int>(to(middle)), code % 2 == 0 ? code : code + 1) << middle;
  }
}

TEST(MatmulFormatsTest, E4m3) {
  const auto from = [](int code) { return FromE4m3(static_cast<unsigned char>(code)); };
  EXPECT_EQ(FromE4m3(0x38), 1.0F);
  EXPECT_EQ(FromE4m3(0x7E), 448.0F);
  EXPECT_EQ(FromE4m3(0x01), 0x1p-9F);
  EXPECT_EQ(FromE4m3(0xC0), -2.0F);
  EXPECT_TRUE(std::isnan(FromE4m3(0x7F)));
  ExpectNearest(256, 448, from, ToE4m3);
  ExpectTiesToEven(0, 0x7F, from, ToE4m3);
  EXPECT_EQ(ToE4m3(1e6F), 0x7E);
}

TEST(MatmulFormatsTest, E2m1) {
  const float values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (unsigned code = 0; code < 8; ++code) {
    EXPECT_EQ(FromE2m1(code), values[code]);
    EXPECT_EQ(FromE2m1(code | 8), -values[code]);
    EXPECT_EQ(FromE2m1(code | 0xF0), FromE2m1(code)) << "the upper half is another's";
  }
  const auto from = [](int code) { return FromE2m1(static_cast<unsigned>(code)); };
  ExpectNearest(16, 6, from, ToE2m1);
  ExpectTiesToEven(0, 8, from, ToE2m1);
  EXPECT_EQ(ToE2m1(-100), 15u);
}

TEST(MatmulFormatsTest, Fp16) {
  const auto from = [](int code) { return FromFp16(static_cast<unsigned short>(code)); };
  EXPECT_EQ(FromFp16(0x3C00), 1.0F);
  EXPECT_EQ(FromFp16(0x7BFF), 65504.0F);
  EXPECT_EQ(FromFp16(0x0001), 0x1p-24F);
  EXPECT_TRUE(std::isinf(FromFp16(0xFC00)));
  EXPECT_TRUE(std::isnan(FromFp16(0xFFFF)));
  for (int code = 0; code < 0x7C00; ++code) {
    ASSERT_EQ(ToFp16(from(code)), code);
    ASSERT_EQ(ToFp16(-from(code)), code | 0x8000);
  }
  ExpectTiesToEven(0, 0x7BFF, from, ToFp16);
}

TEST(MatmulFormatsTest, Tf32HasTenBitsOfFraction) {
  EXPECT_EQ(ToTf32(1 + 0x1p-10F), 1 + 0x1p-10F);
  EXPECT_EQ(ToTf32(1 + 0x1p-11F), 1.0F);
  EXPECT_EQ(ToTf32(1 + 3 * 0x1p-11F), 1 + 0x1p-9F);
  EXPECT_EQ(ToTf32(-1 - 0x1.8p-11F), -1 - 0x1p-10F);
}

TEST(MatmulFormatsTest, E8m0IsAPowerOfTwo) {
  for (const int code : {0, 1, 126, 127, 128, 254}) {
    EXPECT_EQ(FromE8m0(static_cast<unsigned char>(code)), std::ldexp(1.0, code - 127)) << code;
  }
}

TEST(MatmulFormatsTest, ScalesFillTheirTilesOnce) {
  constexpr long long kRows = 256;
  constexpr long long kBlocks = 12;
  std::vector<int> seen(kRows * kBlocks);
  for (long long row = 0; row < kRows; ++row) {
    for (long long block = 0; block < kBlocks; ++block) {
      ++seen.at(static_cast<size_t>(ScalePlace(row, block, kBlocks / 4)));
    }
  }
  EXPECT_EQ(seen, std::vector<int>(kRows * kBlocks, 1));
  // As cuBLAS documents: four scales of a row, then rows 32 apart, then the next row.
  EXPECT_EQ(ScalePlace(0, 3, 3), 3);
  EXPECT_EQ(ScalePlace(32, 0, 3), 4);
  EXPECT_EQ(ScalePlace(1, 0, 3), 16);
  EXPECT_EQ(ScalePlace(0, 4, 3), 512);
  EXPECT_EQ(ScalePlace(128, 0, 3), 3 * 512);
}

// Elements of a matrix that fill_matrix() made.
template <int kFormat, typename Word>
std::vector<double> Filled(size_t count, int integers, float deviation, size_t elements_of_word) {
  std::vector<Word> words(count / elements_of_word + 1);
  Emulate(fill_matrix, 3, 64, static_cast<void*>(words.data()), count, kSeed, int{kFormat},
          integers, deviation);
  Matrix x = {};
  x.elements = words.data();
  x.k_step = 1;
  std::vector<double> out(count);
  for (size_t i = 0; i < count; ++i) {
    out[i] = ElementAt<kFormat>(x, 0, static_cast<long long>(i));
  }
  return out;
}

double VarianceOf(const std::vector<double>& numbers) {
  double sum = 0;
  double squares = 0;
  for (const double x : numbers) {
    sum += x;
    squares += x * x;
  }
  const auto count = static_cast<double>(numbers.size());
  EXPECT_LT(std::abs(sum / count), 4 * std::sqrt(squares) / count);
  return squares / count;
}

constexpr size_t kCount = 40'000;

TEST(FillMatrixTest, NumbersAreNormalInEveryFormat) {
  EXPECT_NEAR(VarianceOf(Filled<kFp64Elements, double>(kCount, 0, 1, 1)), 1, 0.03);
  EXPECT_NEAR(VarianceOf(Filled<kFp32Elements, float>(kCount, 0, 1, 1)), 1, 0.03);
  EXPECT_NEAR(VarianceOf(Filled<kTf32Elements, float>(kCount, 0, 1, 1)), 1, 0.03);
  EXPECT_NEAR(VarianceOf(Filled<kFp16Elements, unsigned short>(kCount, 0, 1, 1)), 1, 0.03);
  EXPECT_NEAR(VarianceOf(Filled<kBf16Elements, unsigned short>(kCount, 0, 1, 1)), 1, 0.03);
  EXPECT_NEAR(VarianceOf(Filled<kInt8Elements, signed char>(kCount, 0, 32, 1)), 1024, 30);
  EXPECT_NEAR(VarianceOf(Filled<kE4m3Elements, unsigned char>(kCount, 0, 64, 1)), 4096, 120);
}

TEST(FillMatrixTest, TheSameNumbersRounded) {
  const auto wide = Filled<kFp32Elements, float>(kCount, 0, 1, 1);
  const auto fp16 = Filled<kFp16Elements, unsigned short>(kCount, 0, 1, 1);
  const auto int8 = Filled<kInt8Elements, signed char>(kCount, 0, 32, 1);
  for (size_t i = 0; i < kCount; ++i) {
    ASSERT_LE(std::abs(fp16[i] - wide[i]), std::abs(wide[i]) * 0x1p-11 + 0x1p-25);
    ASSERT_LE(std::abs(int8[i] - std::clamp(wide[i] * 32, -127.0, 127.0)), 0.5001);
  }
}

TEST(FillMatrixTest, FourBitsAreTwoAByte) {
  std::vector<unsigned char> bytes(kCount / 2);
  Emulate(fill_matrix, 3, 64, static_cast<void*>(bytes.data()), kCount, kSeed, int{kNvE2m1Elements},
          0, 2.0F);
  const auto wide = Filled<kFp32Elements, float>(kCount, 0, 2, 1);
  for (size_t i = 0; i < kCount; ++i) {
    const unsigned code = bytes[i / 2] >> (i % 2 * 4) & 0xF;
    ASSERT_EQ(code, ToE2m1(static_cast<float>(wide[i]))) << i;
  }
}

TEST(FillMatrixTest, SmallIntegersAreTheSameInEveryFormat) {
  const auto plain = Filled<kFp64Elements, double>(kCount, 1, 1, 1);
  std::vector<int> counts(9);
  for (const double x : plain) ++counts.at(static_cast<size_t>(x + 4));
  for (const int count : counts) EXPECT_NEAR(count, kCount / 9.0, 400);
  EXPECT_EQ((Filled<kBf16Elements, unsigned short>(kCount, 1, 1, 1)), plain);
  EXPECT_EQ((Filled<kFp16Elements, unsigned short>(kCount, 1, 1, 1)), plain);
  EXPECT_EQ((Filled<kTf32Elements, float>(kCount, 1, 1, 1)), plain);
  EXPECT_EQ((Filled<kInt8Elements, signed char>(kCount, 1, 32, 1)), plain);
  EXPECT_EQ((Filled<kE4m3Elements, unsigned char>(kCount, 1, 64, 1)), plain);
}

TEST(FillScalesTest, AreOfTheKindsThatAreAsked) {
  std::vector<unsigned char> scales(1000, 0xFF);
  Emulate(fill_scales, 2, 32, scales.data(), 999ULL, kSeed, 126, 3);
  std::vector<int> counts(3);
  for (size_t i = 0; i < 999; ++i) ++counts.at(scales[i] - 126u);
  for (const int count : counts) EXPECT_NEAR(count, 333, 60);
  EXPECT_EQ(scales.back(), 0xFF);
}

}  // namespace
}  // namespace sextant::probe
