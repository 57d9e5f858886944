// Reductions, softmax and norms against loops that count.
#include <gtest/gtest.h>

#include <limits>

#include "tests/engine/operation/naive.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using naive::Buffer;
using naive::Has;
using naive::kAccumulationBytes;
using naive::Naive;
using naive::Number;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

class NaiveReduction : public Naive {
 public:
  explicit NaiveReduction(const Reduction& op) : op_(op), n_(op.reduced) {
    Operand(op.outer * op.reduced);
    Output(op.outer);
  }
  void Forward() override {
    const Buffer& x = *operands[0];
    for (int64_t r = 0; r < op_.outer; ++r) {
      Number y = Identity();
      for (int64_t c = 0; c < n_; ++c) y = Join(y, x[r * n_ + c]);
      if (op_.function == ReductionKind::kMean) y = y / static_cast<double>(n_);
      output->Set(r, y);
    }
  }
  void Backward(OperandSet) override {
    for (int64_t r = 0; r < op_.outer; ++r) BackwardRow(r);
  }

 private:
  Number Identity() const {
    switch (op_.function) {
      case ReductionKind::kMax:
        return -kUnbounded;
      case ReductionKind::kMin:
        return kUnbounded;
      case ReductionKind::kProduct:
        return 1;
      default:
        return 0;
    }
  }
  Number Join(Number y, Number x) const {
    switch (op_.function) {
      case ReductionKind::kMax:
        return x > y ? x : y;
      case ReductionKind::kMin:
        return y > x ? x : y;
      case ReductionKind::kProduct:
        return y * x;
      default:
        return y + x;
    }
  }
  void BackwardRow(int64_t r) {
    const Buffer& x = *operands[0];
    Number d = (*output_gradient)[r];
    switch (op_.function) {
      case ReductionKind::kSum:
        for (int64_t c = 0; c < n_; ++c) gradient(0).Set(r * n_ + c, d);
        return;
      case ReductionKind::kMean:
        d = d / static_cast<double>(n_);
        for (int64_t c = 0; c < n_; ++c) gradient(0).Set(r * n_ + c, d);
        return;
      case ReductionKind::kProduct:
        d = d * (*output)[r];
        for (int64_t c = 0; c < n_; ++c) gradient(0).Set(r * n_ + c, d / x[r * n_ + c]);
        return;
      default:
        break;
    }
    std::vector<Number> is_extreme;
    Number number = 0;
    for (int64_t c = 0; c < n_; ++c) {
      is_extreme.push_back(x[r * n_ + c] == (*output)[r] ? 1 : 0);
      number += is_extreme.back();
    }
    d = d / number;
    for (int64_t c = 0; c < n_; ++c) {
      gradient(0).Set(r * n_ + c, d * is_extreme[static_cast<size_t>(c)]);
    }
  }

  Reduction op_;
  int64_t n_;
};

TEST(RowsCounted, Reductions) {
  using R = ReductionKind;
  for (const R function : {R::kSum, R::kMean, R::kMax, R::kMin, R::kProduct}) {
    for (const Reduction& size :
         {Reduction{1, 1}, Reduction{3, 4}, Reduction{2, 1}, Reduction{1, 6}}) {
      const Reduction op = {.outer = size.outer, .reduced = size.reduced, .function = function};
      NaiveReduction naive(op);
      ExpectCounted(op, naive);
    }
  }
}

class NaiveSoftmax : public Naive {
 public:
  explicit NaiveSoftmax(const Softmax& op) : op_(op), n_(op.columns) {
    Operand(op.rows * op.columns);
    Output(op.rows * op.columns);
  }
  void Forward() override {
    for (int64_t r = 0; r < op_.rows; ++r) {
      std::vector<Number> x;
      for (int64_t c = 0; c < n_; ++c) x.push_back((*operands[0])[r * n_ + c]);
      Number largest = -kUnbounded;
      for (const Number v : x) largest = v > largest ? v : largest;
      Number sum = 0;
      for (Number& v : x) sum += v = naive::Exp(v - largest);
      for (int64_t c = 0; c < n_; ++c) output->Set(r * n_ + c, x[static_cast<size_t>(c)] / sum);
    }
  }
  void Backward(OperandSet) override {
    const Buffer& dy = *output_gradient;
    const Buffer& y = *output;
    for (int64_t r = 0; r < op_.rows; ++r) {
      Number sum = 0;
      for (int64_t c = 0; c < n_; ++c) sum += dy[r * n_ + c] * y[r * n_ + c];
      for (int64_t c = 0; c < n_; ++c) {
        gradient(0).Set(r * n_ + c, y[r * n_ + c] * (dy[r * n_ + c] - sum));
      }
    }
  }

 private:
  Softmax op_;
  int64_t n_;
};

TEST(RowsCounted, Softmax) {
  naive::ExpectEachCounted<NaiveSoftmax, Softmax>({Softmax{1, 1}, Softmax{3, 4}, Softmax{2, 7}});
}

// LayerNorm where `centred`, else RMSNorm.
class NaiveNorm : public Naive {
 public:
  explicit NaiveNorm(const LayerNorm& op) : NaiveNorm(op.rows, op.columns, true) {}
  explicit NaiveNorm(const RmsNorm& op) : NaiveNorm(op.rows, op.columns, false) {}
  NaiveNorm(int64_t rows, int64_t columns, bool centred)
      : rows_(rows), n_(columns), centred_(centred) {
    Operand(rows * columns);
    Operand(columns);
    if (centred) Operand(columns);
    Output(rows * columns);
    mean_ = New(rows, kAccumulationBytes);
    scale_ = New(rows, kAccumulationBytes);
    mean_->counted_forward = scale_->counted_forward = false;
  }
  void Forward() override {
    for (int64_t r = 0; r < rows_; ++r) {
      std::vector<Number> x = Row(*operands[0], r);
      if (centred_) {
        Number sum = 0;
        for (const Number v : x) sum += v;
        const Number mean = sum / static_cast<double>(n_);
        mean_->Set(r, mean);
        for (Number& v : x) v = v - mean;
      }
      Number squares = 0;
      for (const Number v : x) squares += v * v;
      const Number scale = naive::ReciprocalSqrt(squares / static_cast<double>(n_) + 1e-5);
      scale_->Set(r, scale);
      for (int64_t c = 0; c < n_; ++c) {
        const Number y = x[static_cast<size_t>(c)] * scale * (*operands[1])[c];
        output->Set(r * n_ + c, centred_ ? y + (*operands[2])[c] : y);
      }
    }
  }
  void Backward(OperandSet needed) override {
    std::vector<Number> dw(static_cast<size_t>(n_));
    std::vector<Number> db(static_cast<size_t>(n_));
    for (int64_t r = 0; r < rows_; ++r) {
      const std::vector<Number> dy = Row(*output_gradient, r);
      for (size_t c = 0; c < dy.size(); ++c) {
        if (centred_ && Has(needed, 2)) db[c] += dy[c];
      }
      if (!Has(needed, 0) && !Has(needed, 1)) continue;
      const std::vector<Number> z = Normalised(r);
      for (size_t c = 0; c < dy.size(); ++c) {
        if (Has(needed, 1)) dw[c] += dy[c] * z[c];
      }
      if (Has(needed, 0)) BackwardRow(r, dy, z);
    }
    for (int64_t c = 0; c < n_; ++c) {
      if (Has(needed, 1)) gradient(1).Set(c, dw[static_cast<size_t>(c)]);
      if (centred_ && Has(needed, 2)) gradient(2).Set(c, db[static_cast<size_t>(c)]);
    }
  }

 private:
  std::vector<Number> Row(const Buffer& buffer, int64_t r) const {
    std::vector<Number> row;
    for (int64_t c = 0; c < n_; ++c) row.push_back(buffer[r * n_ + c]);
    return row;
  }
  std::vector<Number> Normalised(int64_t r) const {
    std::vector<Number> z = Row(*operands[0], r);
    for (Number& v : z) {
      if (centred_) v = v - (*mean_)[r];
      v = v * (*scale_)[r];
    }
    return z;
  }
  void BackwardRow(int64_t r, const std::vector<Number>& dy, const std::vector<Number>& z) {
    std::vector<Number> g;
    Number sum = 0;
    Number sum_z = 0;
    for (size_t c = 0; c < dy.size(); ++c) {
      g.push_back(dy[c] * (*operands[1])[static_cast<int64_t>(c)]);
      if (centred_) sum += g.back();
      sum_z += g.back() * z[c];
    }
    const Number mean = centred_ ? sum / static_cast<double>(n_) : 0;
    const Number mean_z = sum_z / static_cast<double>(n_);
    for (int64_t c = 0; c < n_; ++c) {
      const auto i = static_cast<size_t>(c);
      const Number centred = centred_ ? g[i] - mean : g[i];
      gradient(0).Set(r * n_ + c, (*scale_)[r] * (centred - z[i] * mean_z));
    }
  }

  int64_t rows_;
  int64_t n_;
  bool centred_;
  Buffer* mean_;
  Buffer* scale_;
};

TEST(RowsCounted, Norms) {
  naive::ExpectEachCounted<NaiveNorm, LayerNorm>({{1, 2}, {3, 4}, {4, 5}});
  naive::ExpectEachCounted<NaiveNorm, RmsNorm>({{1, 2}, {3, 4}, {4, 5}});
}

// Rows of 4: x 2 bytes, y and what lies between 4, a row's numbers 8. Reads and writes of
// max, subtract, exp, sum, divide: (8 + 8) + (8 + 8 + 16) + (16 + 16) + (16 + 8) +
// (16 + 8 + 16) = 144 a row, in one kernel 8 + 16.
TEST(Softmax, UnfusedPaysEveryRoundTrip) {
  const auto analysis = naive::Analyze(Softmax{3, 4});
  ASSERT_TRUE(analysis.unfused.has_value());
  EXPECT_EQ(analysis.unfused->sum.moved(), Bytes(3 * 144));
  EXPECT_EQ(analysis.forward.sum.moved(), Bytes(3 * 24));
  EXPECT_EQ(analysis.unfused->sum.flops(), analysis.forward.sum.flops());
}

}  // namespace
}  // namespace sextant
