#include "gpu_probe/host/matmul_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/checked_math.h"
#include "gpu_probe/host/random_data.h"
#include "gpu_probe/host/simd.h"

namespace sextant::probe {
namespace {

// The largest sum of random errors of the expected size, in standard deviations: by Hoeffding's
// inequality 1 row's block in 3e7 exceeds it, even where every element's error is as large as its
// bound; the bounds are several times larger than that.
constexpr double kDeviations = 6;

double ToDouble(float value) { return value; }
double ToDouble(uint16_t bf16) { return FromBf16(bf16); }
double ToDouble(uint8_t value) { return value; }
double ToDouble(int8_t value) { return value; }
double ToDouble(int32_t value) { return value; }

template <typename Element>
void Widen(const Element* from, int64_t count, double* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = ToDouble(from[i]);
}

// Relative bounds of one rounding: of a partial sum, and of an element of C when it is written. 0
// where arithmetic is exact.
struct Rounding {
  double sum = 0;
  double output = 0;
};

struct Fp32Elements {
  using A = float;
  using B = float;
  using C = float;
  static constexpr Rounding kRounding = {.sum = 0x1p-24, .output = 0};
  static double Distance(double x, double y) { return std::abs(x - y); }
};
struct Bf16Elements {
  using A = uint16_t;
  using B = uint16_t;
  using C = uint16_t;
  static constexpr Rounding kRounding = {.sum = 0x1p-24, .output = 0x1p-8};
  static double Distance(double x, double y) { return std::abs(x - y); }
};
struct Int8Elements {
  using A = uint8_t;
  using B = int8_t;
  using C = int32_t;
  static constexpr Rounding kRounding = {};
  // Sums of 32 bits wrap around, and both values are whole numbers below 2^53.
  static double Distance(double x, double y) { return std::abs(std::remainder(x - y, 0x1p32)); }
};

// The first difference that a thread finds.
struct Difference {
  bool found = false;
  int64_t row = 0;
  int64_t first_column = 0;
  int64_t end_column = 0;
  double by = 0;
  double allowed = 0;
};

using Doubles = VectorOf<double, kBaseBytes>::Type;
constexpr int64_t kCheckLanes = VectorOf<double, kBaseBytes>::kLaneCount;

double Dot(const double* x, const double* y, int64_t count) {
  constexpr int kSumCount = 4;
  constexpr int64_t kStep = kSumCount * kCheckLanes;
  Doubles sums[kSumCount] = {};
  int64_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    for (int j = 0; j < kSumCount; ++j) {
      sums[j] += *reinterpret_cast<const Doubles*>(x + i + j * kCheckLanes) *
                 *reinterpret_cast<const Doubles*>(y + i + j * kCheckLanes);
    }
  }
  const Doubles sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  double total = sum[0] + sum[1];
  for (; i < count; ++i) total += x[i] * y[i];
  return total;
}

// One check. All arithmetic is in double, which holds every sum of INT8 exactly, and whose rounding
// errors are 2^-29 of those of the other types.
template <typename Elements>
class Check {
 public:
  Check(const v1::MatmulShape& shape, const MatmulOperands& operands, uint64_t seed)
      : m_(shape.m()),
        n_(shape.n()),
        k_(shape.k()),
        a_(static_cast<const typename Elements::A*>(operands.a)),
        b_(static_cast<const typename Elements::B*>(operands.b)),
        c_(static_cast<const typename Elements::C*>(operands.c)),
        block_count_(CeilDivide(n_, kCheckedColumnCount)),
        signs_(static_cast<size_t>(n_)),
        b_signs_(static_cast<size_t>(block_count_ * k_)),
        b_norms_(static_cast<size_t>(block_count_)) {
    for (size_t j = 0; j < signs_.size(); ++j) {
      signs_[j] = (RandomBits(seed + j) & 1) != 0 ? 1 : -1;
    }
  }

  absl::Status Run(ThreadTeam* team);

 private:
  int64_t EndColumn(int64_t block) const { return std::min((block + 1) * kCheckedColumnCount, n_); }
  // Computes B r for the block's columns, and their Frobenius norm.
  void SumColumns(int64_t block);
  Difference CompareRows(const Part& rows) const;
  Difference CompareBlock(int64_t row, const std::vector<double>& a_row, double a_norm,
                          int64_t block) const;

  const int64_t m_;
  const int64_t n_;
  const int64_t k_;
  const typename Elements::A* const a_;
  const typename Elements::B* const b_;
  const typename Elements::C* const c_;
  const int64_t block_count_;
  std::vector<double> signs_;
  std::vector<double> b_signs_;  // block after block, k_ each
  std::vector<double> b_norms_;
};

template <typename Elements>
void Check<Elements>::SumColumns(int64_t block) {
  double* const sums = b_signs_.data() + block * k_;
  std::vector<double> column(static_cast<size_t>(k_));
  double squares = 0;
  for (int64_t j = block * kCheckedColumnCount; j < EndColumn(block); ++j) {
    const double sign = signs_[static_cast<size_t>(j)];
    Widen(b_ + j * k_, k_, column.data());
    for (int64_t p = 0; p < k_; ++p) sums[p] += sign * column[static_cast<size_t>(p)];
    squares += Dot(column.data(), column.data(), k_);
  }
  b_norms_[static_cast<size_t>(block)] = std::sqrt(squares);
}

template <typename Elements>
Difference Check<Elements>::CompareBlock(int64_t row, const std::vector<double>& a_row,
                                         double a_norm, int64_t block) const {
  std::array<double, kCheckedColumnCount> c;
  const int64_t first_column = block * kCheckedColumnCount;
  const int64_t count = EndColumn(block) - first_column;
  Widen(c_ + row * n_ + first_column, count, c.data());
  const double actual = Dot(signs_.data() + first_column, c.data(), count);
  const double c_norm = std::sqrt(Dot(c.data(), c.data(), count));
  const double expected = Dot(a_row.data(), b_signs_.data() + block * k_, k_);
  constexpr Rounding kRounding = Elements::kRounding;
  const double sum_rounding = kRounding.sum * std::sqrt(static_cast<double>(k_)) * a_norm *
                              b_norms_[static_cast<size_t>(block)];
  const double allowed = kDeviations * (sum_rounding + kRounding.output * c_norm);
  const double by = Elements::Distance(actual, expected);
  // With an infinite element both values are infinite.
  if (std::isfinite(by) && by <= allowed) return {};
  return {.found = true,
          .row = row,
          .first_column = first_column,
          .end_column = EndColumn(block),
          .by = by,
          .allowed = allowed};
}

template <typename Elements>
Difference Check<Elements>::CompareRows(const Part& rows) const {
  std::vector<double> a_row(static_cast<size_t>(k_));
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    Widen(a_ + i * k_, k_, a_row.data());
    const double a_norm = std::sqrt(Dot(a_row.data(), a_row.data(), k_));
    for (int64_t block = 0; block < block_count_; ++block) {
      const Difference difference = CompareBlock(i, a_row, a_norm, block);
      if (difference.found) return difference;
    }
  }
  return {};
}

template <typename Elements>
absl::Status Check<Elements>::Run(ThreadTeam* team) {
  team->Run([&](int index) {
    const Part blocks = PartOf(block_count_, index, team->size(), 1);
    for (int64_t block = blocks.begin; block < blocks.end; ++block) SumColumns(block);
  });
  std::vector<Difference> differences(static_cast<size_t>(team->size()));
  team->Run([&](int index) {
    differences[static_cast<size_t>(index)] = CompareRows(PartOf(m_, index, team->size(), 1));
  });
  for (const Difference& found : differences) {
    if (!found.found) continue;
    return absl::DataLossError(absl::StrCat("wrong product: in row ", found.row, " the columns ",
                                            found.first_column, " to ", found.end_column - 1,
                                            " are off by ", found.by, " where rounding explains ",
                                            found.allowed));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckMatmul(const v1::MatmulShape& shape, const MatmulOperands& operands,
                         uint64_t seed, ThreadTeam* team) {
  switch (shape.data_type()) {
    case v1::DATA_TYPE_BF16:
      return Check<Bf16Elements>(shape, operands, seed).Run(team);
    case v1::DATA_TYPE_INT8:
      return Check<Int8Elements>(shape, operands, seed).Run(team);
    default:
      return Check<Fp32Elements>(shape, operands, seed).Run(team);
  }
}

}  // namespace sextant::probe
