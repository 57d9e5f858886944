// Matrix products and layers of experts against loops that count each multiply and add.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/engine/operation/naive.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

using naive::Buffer;
using naive::Has;
using naive::kOutputBytes;
using naive::Naive;
using naive::Number;

class NaiveProduct : public Naive {
 public:
  NaiveProduct(const BatchedMatmul& size, bool bias) : s_(size), bias_(bias) {
    a_ = Operand(s_.batch * s_.m * s_.k);
    b_ = Operand(s_.batch * s_.k * s_.n);
    if (bias) Operand(s_.n);
    Output(s_.batch * s_.m * s_.n);
  }

  void Forward() override {
    for (int64_t batch = 0; batch < s_.batch; ++batch) {
      for (int64_t i = 0; i < s_.m; ++i) {
        for (int64_t j = 0; j < s_.n; ++j) {
          Number sum = 0;
          for (int64_t l = 0; l < s_.k; ++l) sum += (*a_)[A(batch, i, l)] * (*b_)[B(batch, l, j)];
          output->Set(C(batch, i, j), bias_ ? sum + (*operands[2])[j] : sum);
        }
      }
    }
  }

  void Backward(OperandSet needed) override {
    const Buffer& dc = *output_gradient;
    if (Has(needed, 0)) {
      for (int64_t batch = 0; batch < s_.batch; ++batch) {
        for (int64_t i = 0; i < s_.m; ++i) {
          for (int64_t l = 0; l < s_.k; ++l) {
            Number sum = 0;
            for (int64_t j = 0; j < s_.n; ++j) sum += dc[C(batch, i, j)] * (*b_)[B(batch, l, j)];
            gradient(0).Set(A(batch, i, l), sum);
          }
        }
      }
      Kernel();
    }
    if (Has(needed, 1)) {
      for (int64_t batch = 0; batch < s_.batch; ++batch) {
        for (int64_t l = 0; l < s_.k; ++l) {
          for (int64_t j = 0; j < s_.n; ++j) {
            Number sum = 0;
            for (int64_t i = 0; i < s_.m; ++i) sum += dc[C(batch, i, j)] * (*a_)[A(batch, i, l)];
            gradient(1).Set(B(batch, l, j), sum);
          }
        }
      }
      Kernel();
    }
    if (!bias_ || !Has(needed, 2)) return;
    for (int64_t j = 0; j < s_.n; ++j) {
      Number sum = 0;
      for (int64_t i = 0; i < s_.m; ++i) sum += dc[C(0, i, j)];
      gradient(2).Set(j, sum);
    }
  }

 private:
  int64_t A(int64_t batch, int64_t i, int64_t l) const { return (batch * s_.m + i) * s_.k + l; }
  int64_t B(int64_t batch, int64_t l, int64_t j) const { return (batch * s_.k + l) * s_.n + j; }
  int64_t C(int64_t batch, int64_t i, int64_t j) const { return (batch * s_.m + i) * s_.n + j; }

  BatchedMatmul s_;
  bool bias_;
  Buffer* a_;
  Buffer* b_;
};

const std::vector<Matmul> kShapes = {{.m = 1, .n = 1, .k = 1},
                                     {.m = 3, .n = 4, .k = 5},
                                     {.m = 7, .n = 1, .k = 2},
                                     {.m = 1, .n = 6, .k = 3},
                                     {.m = 2, .n = 5, .k = 1}};

TEST(MatrixCounted, Matmul) {
  for (const Matmul& op : kShapes) {
    NaiveProduct product({.batch = 1, .m = op.m, .n = op.n, .k = op.k}, false);
    ExpectCounted(op, product);
  }
}

TEST(MatrixCounted, BatchedMatmul) {
  for (const Matmul& op : kShapes) {
    for (const int64_t batch : {1, 2, 5}) {
      const BatchedMatmul batched = {.batch = batch, .m = op.m, .n = op.n, .k = op.k};
      NaiveProduct product(batched, false);
      ExpectCounted(batched, product);
    }
  }
}

TEST(MatrixCounted, LinearWithAndWithoutBias) {
  for (const Matmul& op : kShapes) {
    for (const bool bias : {false, true}) {
      NaiveProduct product({.batch = 1, .m = op.m, .n = op.n, .k = op.k}, bias);
      ExpectCounted(Linear{.rows = op.m, .input_size = op.k, .output_size = op.n, .bias = bias},
                    product);
    }
  }
}

constexpr OperationTypes kBf16Experts = {.input = DataType::kBf16};

// Rows of x [rows, h]; row r goes to expert r modulo the experts that the device holds.
class NaiveExperts : public Naive {
 public:
  NaiveExperts(const Experts& op, int64_t rows)
      : gated_(op.gated),
        rows_(rows),
        held_(op.expert_count / op.expert_parallel_size),
        h_(op.hidden_size),
        f_(op.feed_forward_size),
        wide_(op.gated ? 2 * op.feed_forward_size : op.feed_forward_size) {
    Operand(rows_ * h_);
    Operand(held_ * h_ * wide_);
    Operand(held_ * f_ * h_);
    Output(rows_ * h_);
    up_ = New(rows_ * wide_, kOutputBytes);
    hidden_ = New(rows_ * f_, kOutputBytes);
    d_up_ = New(rows_ * wide_, kOutputBytes);
    d_hidden_ = New(rows_ * f_, kOutputBytes);
  }

  void Forward() override {
    Multiply(*operands[0], *operands[1], h_, wide_, *up_);
    Kernel();
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t c = 0; c < f_; ++c) hidden_->Set(r * f_ + c, Hidden(r, c));
    }
    Kernel();
    Multiply(*hidden_, *operands[2], f_, h_, *output);
  }

  void Backward(OperandSet needed) override {
    if (Has(needed, 2)) WeightGradient(*hidden_, *output_gradient, f_, h_, gradient(2));
    if ((needed & ~OperandBit(2)) == 0) return;
    Kernel();
    MultiplyBack(*output_gradient, *operands[2], f_, h_, *d_hidden_);
    Kernel();
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t c = 0; c < f_; ++c) BackThroughHidden(r, c);
    }
    Kernel();
    if (Has(needed, 0)) MultiplyBack(*d_up_, *operands[1], h_, wide_, gradient(0));
    Kernel();
    if (Has(needed, 1)) WeightGradient(*operands[0], *d_up_, h_, wide_, gradient(1));
  }

 private:
  int64_t ExpertOf(int64_t row) const { return row % held_; }

  // y [rows, n] = x [rows, k] w of the row's expert [k, n]
  void Multiply(const Buffer& x, const Buffer& w, int64_t k, int64_t n, Buffer& y) const {
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t j = 0; j < n; ++j) {
        Number sum = 0;
        for (int64_t i = 0; i < k; ++i) sum += x[r * k + i] * w[(ExpertOf(r) * k + i) * n + j];
        y.Set(r * n + j, sum);
      }
    }
  }
  // dx [rows, k] = dy [rows, n] times the transposed w.
  void MultiplyBack(const Buffer& dy, const Buffer& w, int64_t k, int64_t n, Buffer& dx) const {
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t i = 0; i < k; ++i) {
        Number sum = 0;
        for (int64_t j = 0; j < n; ++j) sum += dy[r * n + j] * w[(ExpertOf(r) * k + i) * n + j];
        dx.Set(r * k + i, sum);
      }
    }
  }
  // dw of each expert: the sum over its rows. All are written.
  void WeightGradient(const Buffer& x, const Buffer& dy, int64_t k, int64_t n, Buffer& dw) const {
    std::vector<Number> sums(static_cast<size_t>(dw.count()));
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t i = 0; i < k; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          sums[static_cast<size_t>((ExpertOf(r) * k + i) * n + j)] += x[r * k + i] * dy[r * n + j];
        }
      }
    }
    for (int64_t i = 0; i < dw.count(); ++i) dw.Set(i, sums[static_cast<size_t>(i)]);
  }

  Number Hidden(int64_t r, int64_t c) const {
    const Number u = (*up_)[r * wide_ + c];
    if (!gated_) return u * (Number(1) + naive::Erf(u * (1 / std::numbers::sqrt2))) * 0.5;
    return u / (Number(1) + naive::Exp(-u)) * (*up_)[r * wide_ + f_ + c];
  }
  void BackThroughHidden(int64_t r, int64_t c) {
    const Number dy = (*d_hidden_)[r * f_ + c];
    const Number u = (*up_)[r * wide_ + c];
    if (!gated_) {
      const Number below = (Number(1) + naive::Erf(u * (1 / std::numbers::sqrt2))) * 0.5;
      const Number density = naive::Exp(u * u * -0.5) * (1 / std::sqrt(2 * std::numbers::pi));
      d_up_->Set(r * wide_ + c, dy * (below + u * density));
      return;
    }
    const Number up = (*up_)[r * wide_ + f_ + c];
    const Number s = Number(1) / (Number(1) + naive::Exp(-u));
    d_up_->Set(r * wide_ + c, dy * up * (s * (Number(1) + u * (Number(1) - s))));
    d_up_->Set(r * wide_ + f_ + c, dy * (u * s));
  }

  bool gated_;
  int64_t rows_;
  int64_t held_;
  int64_t h_;
  int64_t f_;
  int64_t wide_;
  Buffer* up_ = nullptr;
  Buffer* hidden_ = nullptr;
  Buffer* d_up_ = nullptr;
  Buffer* d_hidden_ = nullptr;
};

struct ExpertsCase {
  int64_t tokens;
  int64_t experts;
  int64_t experts_per_token;
  int64_t devices;
  int64_t rows;  // of a device, by hand
};

// Even; more experts than rows; rows that don't divide; one expert a token; one device's share.
constexpr ExpertsCase kSpreads[] = {
    {4, 4, 2, 1, 8}, {1, 8, 2, 1, 2}, {5, 6, 3, 2, 8}, {3, 2, 1, 1, 3}, {1, 8, 1, 8, 1}};

TEST(ExpertsCounted, ForwardAndBackward) {
  for (const ExpertsCase& c : kSpreads) {
    for (const bool gated : {true, false}) {
      const Experts op = {.tokens = c.tokens,
                          .hidden_size = 3,
                          .feed_forward_size = 2,
                          .expert_count = c.experts,
                          .experts_per_token = c.experts_per_token,
                          .expert_parallel_size = c.devices,
                          .gated = gated};
      NaiveExperts naive(op, c.rows);
      ExpectCounted(op, naive);
    }
  }
}

// DeepSeek-V3's experts: 256 of 7168 x 2048, 8 a token, on 32 devices. Of 65,536 tokens 524,288
// rows, 16,384 on a device with 8 experts.
constexpr Experts kDeepSeekV3 = {.tokens = 65536,
                                 .hidden_size = 7168,
                                 .feed_forward_size = 2048,
                                 .expert_count = 256,
                                 .experts_per_token = 8,
                                 .expert_parallel_size = 32};

TEST(Experts, AreCountedByHand) {
  const auto analysis = naive::Analyze(kDeepSeekV3, kBf16Experts);
  EXPECT_EQ(analysis.name, "experts");
  constexpr double kProducts = 6.0 * 16384 * 7168 * 2048;
  EXPECT_EQ(analysis.forward.sum.matrix_flops, Flops(kProducts));
  EXPECT_EQ(analysis.backward->cost.sum.matrix_flops, Flops(2 * kProducts));
  // Two products without x's gradient: of the first one, w's alone.
  EXPECT_EQ(analysis.backward_without_input->cost.sum.matrix_flops,
            Flops(2 * kProducts - 4.0 * 16384 * 7168 * 2048));
  constexpr int64_t kWeights = 8 * 3 * int64_t{7168} * 2048;
  constexpr int64_t kRow = 7168;
  // Reads x, gate and up, hidden, weights; writes gate and up, hidden, y.
  EXPECT_EQ(analysis.forward.sum.read, Bytes(2 * (16384 * (kRow + 4096 + 2048) + kWeights)));
  EXPECT_EQ(analysis.forward.sum.written, Bytes(2 * 16384 * (4096 + 2048 + kRow)));
  // x, gate and up, hidden; weights are held anyway.
  EXPECT_EQ(analysis.backward->saved_bytes, Bytes(2 * 16384 * (kRow + 4096 + 2048)));
}

// One token goes to 8 experts of 256: 8 are read, and 256 gradients are written.
TEST(Experts, OfFewTokensReadThoseThatAreAskedFor) {
  Experts op = kDeepSeekV3;
  op.tokens = 1;
  op.expert_parallel_size = 1;
  op.hidden_size = 16;
  op.feed_forward_size = 4;
  op.gated = false;
  const auto analysis = naive::Analyze(op, kBf16Experts);
  EXPECT_EQ(analysis.forward.sum.read, Bytes(2 * (8 * (16 + 4 + 4) + 8 * 2 * 16 * 4)));
  EXPECT_EQ(analysis.operands[1].shape, (Shape{256, 16, 4}));
  for (const StepCost& step : analysis.backward->cost.steps) {
    if (step.name != "dw_down = hidden^T dy") continue;
    EXPECT_EQ(step.sum.written, Bytes(2 * 256 * 4 * 16));
    EXPECT_EQ(step.sum.matrix_flops, Flops(2 * 8 * 4 * 16));
  }
}

TEST(Experts, NameTheFieldsAtFault) {
  EXPECT_THAT(AnalyzeOperation({Experts{.expert_parallel_size = 0}, kBf16Experts}, "e"),
              NamesFields(UnorderedElementsAre("e.tokens", "e.hidden_size", "e.feed_forward_size",
                                               "e.expert_count", "e.experts_per_token",
                                               "e.expert_parallel_size")));
  Experts op = kDeepSeekV3;
  op.experts_per_token = 257;
  op.expert_parallel_size = 3;
  EXPECT_THAT(AnalyzeOperation({op, kBf16Experts}, ""),
              NamesFields(ElementsAre("experts_per_token", "expert_parallel_size")));
  op.experts_per_token = 0;
  op.expert_parallel_size = -4;
  EXPECT_THAT(AnalyzeOperation({op, kBf16Experts}, ""),
              NamesFields(ElementsAre("experts_per_token", "expert_parallel_size")));
  op = kDeepSeekV3;
  op.expert_count = kMaxExperts + 1;
  EXPECT_THAT(AnalyzeOperation({op, kBf16Experts}, ""), NamesFields(ElementsAre("expert_count")));
  op = kDeepSeekV3;
  op.tokens = kMaxDimension;
  op.hidden_size = kMaxDimension;
  EXPECT_THAT(AnalyzeOperation({op, kBf16Experts}, "e"), NamesFields(ElementsAre("e")));
}

}  // namespace
}  // namespace sextant
