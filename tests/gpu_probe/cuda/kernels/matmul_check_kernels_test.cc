// The kernels of matmul_check.cu on a processor, against products in plain loops.
#include "tests/gpu_probe/cuda/kernels/emulation.h"
// After what it stands on.
#include <gtest/gtest.h>

#include <vector>

#include "gpu_probe/cuda/kernels/matmul_check.cu"

namespace sextant::probe {
namespace {

constexpr unsigned long long kSeed = 99;

Matrix Of(const void* elements, MatrixFormat format, long long row_step, double scale = 1) {
  Matrix out = {};
  out.elements = elements;
  out.format = format;
  out.row_step = row_step;
  out.k_step = 1;
  out.scale = scale;
  return out;
}

// A product of whole numbers in int8 and int32, or of others in bf16: with its sums in double.
struct Product {
  long long m = 0;
  long long n = 0;
  long long k = 0;
  bool whole = false;
  std::vector<signed char> a8 = {};
  std::vector<signed char> b8 = {};
  std::vector<int> c32 = {};
  std::vector<unsigned short> a16 = {};
  std::vector<unsigned short> b16 = {};
  std::vector<unsigned short> c16 = {};

  Matrix A() const {
    return whole ? Of(a8.data(), kInt8Elements, k) : Of(a16.data(), kBf16Elements, k);
  }
  Matrix B() const {
    return whole ? Of(b8.data(), kInt8Elements, k) : Of(b16.data(), kBf16Elements, k);
  }
  Matrix C() const {
    return whole ? Of(c32.data(), kInt32Elements, n) : Of(c16.data(), kBf16Elements, n);
  }
};

Product Multiply(long long m, long long n, long long k, bool whole) {
  Product out = {.m = m, .n = n, .k = k, .whole = whole};
  for (long long i = 0; i < m * k; ++i) {
    out.a8.push_back(static_cast<signed char>(RandomBits(i) >> 56));
    out.a16.push_back(ToBf16(RandomNormal(i)));
  }
  for (long long i = 0; i < n * k; ++i) {
    out.b8.push_back(static_cast<signed char>(RandomBits(i + 1'000'000) >> 56));
    out.b16.push_back(ToBf16(RandomNormal(i + 1'000'000)));
  }
  for (long long i = 0; i < m; ++i) {
    for (long long j = 0; j < n; ++j) {
      int sum32 = 0;
      float sum = 0;
      for (long long p = 0; p < k; ++p) {
        sum32 += out.a8[i * k + p] * out.b8[j * k + p];
        sum += FromBf16(out.a16[i * k + p]) * FromBf16(out.b16[j * k + p]);
      }
      out.c32.push_back(sum32);
      out.c16.push_back(ToBf16(sum));
    }
  }
  return out;
}

struct Operands {
  Matrix a, b, c;
  long long m, n, k;
};

Report Freivalds(const Operands& of, Tolerance tolerance, long long lanes = 32) {
  const long long blocks = (of.n + 255) / 256;
  std::vector<double> sums(blocks * of.k, NAN);
  std::vector<double> products(of.m * blocks);
  std::vector<double> a_squares(of.m);
  std::vector<double> b_squares(blocks);
  Emulate(matmul_sum_columns, 3, 64, of.b, of.n, of.k, kSeed, sums.data(), b_squares.data());
  Emulate(matmul_multiply_rows, 2, 96, of.a, of.m, of.k, blocks, lanes, sums.data(),
          products.data(), a_squares.data());
  return ReportOf(check_matmul, 2, 64, of.c, of.m, of.n, kSeed, products.data(), a_squares.data(),
                  b_squares.data(), tolerance);
}

Report Freivalds(const Product& product, long long lanes = 32) {
  const double root_k = std::sqrt(static_cast<double>(product.k));
  const Tolerance tolerance = product.whole
                                  ? Tolerance{.sums = 0, .output = 0}
                                  : Tolerance{.sums = 6 * 0x1p-24 * root_k, .output = 6 * 0x1p-8};
  return Freivalds({product.A(), product.B(), product.C(), product.m, product.n, product.k},
                   tolerance, lanes);
}

TEST(CheckMatmulKernelTest, RightProductsPass) {
  for (const bool whole : {true, false}) {
    for (const long long m : {1, 5, 16}) {
      for (const long long n : {1, 256, 300, 1100}) {
        for (const long long k : {1, 31, 200}) {
          EXPECT_EQ(Freivalds(Multiply(m, n, k, whole)).wrong_count, 0u)
              << m << " " << n << " " << k << " " << whole;
        }
      }
    }
  }
}

TEST(CheckMatmulKernelTest, AWrongWholeNumberIsFoundWhereItIs) {
  Product product = Multiply(7, 600, 64, /*whole=*/true);
  product.c32[5 * 600 + 300] += 1;
  const Report report = Freivalds(product);
  EXPECT_EQ(report.wrong_count, 1u);
  EXPECT_EQ(report.first_wrong, 5u * 3 + 1);
}

TEST(CheckMatmulKernelTest, SumsOf32BitsMayWrap) {
  Product product = Multiply(3, 10, 8, /*whole=*/true);
  product.c32[4] = static_cast<int>(static_cast<unsigned>(product.c32[4]) + 0x80000000u);
  EXPECT_EQ(Freivalds(product).wrong_count, 1u);
  product.c32[5] = static_cast<int>(static_cast<unsigned>(product.c32[5]) + 0x80000000u);
  EXPECT_EQ(Freivalds(product).wrong_count, 0u) << "two halves of a wrap are none, or two wraps";
}

TEST(CheckMatmulKernelTest, WrongNumbersAreFound) {
  const Product right = Multiply(9, 520, 128, /*whole=*/false);
  const auto with = [&](auto change) {
    Product wrong = right;
    change(wrong.c16);
    return Freivalds(wrong);
  };
  // sqrt(128) = 11.3 is the size of an element; 6 x 2^-8 x 11.3 x 16 = 4.2 is allowed of a block.
  EXPECT_GT(
      with([](auto& c) { c[4 * 520 + 3] = ToBf16(FromBf16(c[4 * 520 + 3]) + 10); }).wrong_count,
      0u);
  EXPECT_EQ(with([](auto& c) { c[4 * 520 + 519] = ToBf16(40); }).first_wrong, 4u * 3 + 2);
  const auto exchange = [](auto& c) {
    std::swap_ranges(c.begin(), c.begin() + 16, c.begin() + 520);
  };
  EXPECT_GT(with(exchange).wrong_count, 0u);
  EXPECT_GT(with([](auto& c) { c[8] = 0x7FC0; }).wrong_count, 0u) << "NaN";
  EXPECT_GT(with([](auto& c) { c[8] = 0xFFFF; }).wrong_count, 0u) << "never written";
  EXPECT_GT(with([](auto& c) { c[8] = 0x7F80; }).wrong_count, 0u) << "infinite";
}

TEST(CheckMatmulKernelTest, AnOperandThatWasLostIsFound) {
  Product product = Multiply(6, 256, 96, /*whole=*/false);
  for (long long p = 0; p < 96; ++p) product.a16[2 * 96 + p] = ToBf16(RandomNormal(5'000'000 + p));
  EXPECT_EQ(Freivalds(product).first_wrong, 2u);
}

TEST(CheckMatmulKernelTest, LanesShareTheSum) {
  const Product product = Multiply(5, 1500, 70, /*whole=*/true);
  for (const long long lanes : {1, 32, 64, 256}) {
    EXPECT_EQ(Freivalds(product, lanes).wrong_count, 0u) << lanes;
  }
}

TEST(CheckMatmulKernelTest, ScalesOfMatricesCount) {
  Product product = Multiply(4, 20, 32, /*whole=*/false);
  const auto report_with = [&](double scale) {
    std::vector<double> sums(32, NAN);
    std::vector<double> products(4);
    std::vector<double> a_squares(4);
    std::vector<double> b_squares(1);
    Matrix a = product.A();
    Matrix b = product.B();
    a.scale = scale;
    b.scale = 1 / scale;
    Emulate(matmul_sum_columns, 1, 32, b, 20LL, 32LL, kSeed, sums.data(), b_squares.data());
    Emulate(matmul_multiply_rows, 1, 32, a, 4LL, 32LL, 1LL, 32LL, sums.data(), products.data(),
            a_squares.data());
    return products;
  };
  const auto plain = report_with(1);
  const auto scaled = report_with(4);
  for (size_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(plain[i], scaled[i]);
}

Report Exact(const Product& product, Matrix a, Matrix b) {
  return ReportOf(check_exact_matmul, 2, 64, a, b, product.C(), product.m, product.n, product.k);
}

TEST(CheckExactMatmulTest, EveryElementIsCompared) {
  Product product = Multiply(9, 31, 40, /*whole=*/true);
  EXPECT_EQ(Exact(product, product.A(), product.B()).wrong_count, 0u);
  product.c32[31 * 8 + 30] -= 1;
  product.c32[40] ^= 1 << 30;
  const Report report = Exact(product, product.A(), product.B());
  EXPECT_EQ(report.wrong_count, 2u);
  EXPECT_EQ(report.first_wrong, 40u);
}

TEST(CheckExactMatmulTest, OperandsMayLieTheOtherWay) {
  Product product = Multiply(6, 11, 13, /*whole=*/true);
  std::vector<signed char> a(product.a8.size());
  std::vector<signed char> b(product.b8.size());
  for (long long p = 0; p < 13; ++p) {
    for (long long i = 0; i < 6; ++i) a[p * 6 + i] = product.a8[i * 13 + p];
    for (long long j = 0; j < 11; ++j) b[p * 11 + j] = product.b8[j * 13 + p];
  }
  Matrix a_by_column = Of(a.data(), kInt8Elements, 1);
  a_by_column.k_step = 6;
  Matrix b_by_row = Of(b.data(), kInt8Elements, 1);
  b_by_row.k_step = 11;
  EXPECT_EQ(Exact(product, a_by_column, b_by_row).wrong_count, 0u);
  EXPECT_GT(Exact(product, Of(a.data(), kInt8Elements, 13), b_by_row).wrong_count, 0u);
}

TEST(ElementAtTest, ScalesOfBlocksBelongToTheirElements) {
  constexpr long long kRows = 130;
  constexpr long long kColumns = 96;
  std::vector<unsigned char> elements(kRows * kColumns, 0x38);  // 1 as e4m3; 8, then 3 as e2m1
  std::vector<unsigned char> scales(2 * 2 * 512, 0);
  scales[static_cast<size_t>(ScalePlace(129, 2, 1))] = 129;  // 4 as a power of two
  Matrix x = {};
  x.elements = elements.data();
  x.scales = scales.data();
  x.row_step = kColumns;
  x.k_step = 1;
  x.scale_tiles = 1;
  EXPECT_EQ(ElementAt<kMxE4m3Elements>(x, 129, 64), 4);
  EXPECT_EQ(ElementAt<kMxE4m3Elements>(x, 129, 95), 4);
  EXPECT_LT(ElementAt<kMxE4m3Elements>(x, 129, 63), 1e-30);
  EXPECT_LT(ElementAt<kMxE4m3Elements>(x, 128, 64), 1e-30);
  x.scale_tiles = 2;
  scales[static_cast<size_t>(ScalePlace(5, 5, 2))] = 0x40;  // 2 as e4m3
  EXPECT_EQ(ElementAt<kNvE2m1Elements>(x, 5, 80), 0) << "the lower half, 8: minus nothing";
  EXPECT_EQ(ElementAt<kNvE2m1Elements>(x, 5, 81), 3) << "the upper half, 3: 1.5 times 2";
  EXPECT_EQ(ElementAt<kNvE2m1Elements>(x, 5, 79), 0);
}

// The sum of a row and a column of e4m3 on a tensor core before Blackwell: products and sum are
// truncated, toward 0, at 13 bits of fraction of the largest, 32 at a time.
float ShortSum(const unsigned char* a, const unsigned char* b, long long k) {
  double sum = 0;
  for (long long first = 0; first < k; first += 32) {
    double largest = std::abs(sum);
    for (long long p = first; p < first + 32; ++p) {
      largest = std::max(largest, std::abs(double{FromE4m3(a[p])} * FromE4m3(b[p])));
    }
    if (largest == 0) continue;
    const double unit = std::ldexp(1.0, std::ilogb(largest) - 13);
    double next = std::trunc(sum / unit) * unit;
    for (long long p = first; p < first + 32; ++p) {
      next += std::trunc(double{FromE4m3(a[p])} * FromE4m3(b[p]) / unit) * unit;
    }
    sum = next;
  }
  return static_cast<float>(sum);
}

struct ShortProduct {
  static constexpr long long kM = 24;
  static constexpr long long kN = 300;
  std::vector<unsigned char> a;
  std::vector<unsigned char> b;
  std::vector<unsigned short> c;
  long long k = 0;

  // As ToleranceOf() has it for FP8_E4M3 on a GPU of compute capability 9.0.
  Report Check() const {
    constexpr double kScale = 1.0 / 64;
    return Freivalds(
        {Of(a.data(), kE4m3Elements, k, kScale), Of(b.data(), kE4m3Elements, k, kScale),
         Of(c.data(), kBf16Elements, kN), kM, kN, k},
        {.sums = 6 * 0x1p-13 * std::sqrt(static_cast<double>(k)) / 32, .output = 6 * 0x1p-8});
  }
};

ShortProduct MultiplyShort(long long k) {
  ShortProduct out;
  out.k = k;
  for (long long i = 0; i < ShortProduct::kM * k; ++i) {
    out.a.push_back(ToE4m3(64 * RandomNormal(i)));
  }
  for (long long i = 0; i < ShortProduct::kN * k; ++i) {
    out.b.push_back(ToE4m3(64 * RandomNormal(i + 50'000'000)));
  }
  for (long long i = 0; i < ShortProduct::kM; ++i) {
    for (long long j = 0; j < ShortProduct::kN; ++j) {
      out.c.push_back(ToBf16(ShortSum(&out.a[i * k], &out.b[j * k], k) / 4096));
    }
  }
  return out;
}

TEST(CheckMatmulKernelTest, ShortSumsOfEightBitFloatsPass) {
  for (const long long k : {32, 256, 1024, 4096}) {
    EXPECT_EQ(MultiplyShort(k).Check().wrong_count, 0u) << k;
  }
}

TEST(CheckMatmulKernelTest, WrongColumnsOfShortSumsAreFound) {
  ShortProduct product = MultiplyShort(1024);
  for (long long j = 64; j < 128; ++j) product.c[5 * ShortProduct::kN + j] = 0;
  const Report report = product.Check();
  EXPECT_EQ(report.wrong_count, 1u);
  EXPECT_EQ(report.first_wrong, 10u);
}

TEST(MatmulHashTest, TellsEveryWordAndItsPlace) {
  std::vector<unsigned short> words(777);
  for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<unsigned short>(RandomBits(i));
  const auto hash = [&](unsigned blocks) {
    unsigned long long out = 0;
    Emulate(matmul_hash, blocks, 64, words.data(), 777ULL, &out);
    return out;
  };
  const unsigned long long right = hash(1);
  EXPECT_EQ(hash(5), right);
  for (const size_t place : {size_t{0}, size_t{500}, size_t{776}}) {
    words[place] ^= 0x8000;
    EXPECT_NE(hash(2), right) << place;
    words[place] ^= 0x8000;
  }
  std::swap(words[3], words[4]);
  EXPECT_NE(hash(2), right);
}

}  // namespace
}  // namespace sextant::probe
