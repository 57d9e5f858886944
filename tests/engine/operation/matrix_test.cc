// Matrix products against loops that count each multiply and add.
#include <gtest/gtest.h>

#include "tests/engine/operation/naive.h"

namespace sextant {
namespace {

using naive::Buffer;
using naive::Has;
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

}  // namespace
}  // namespace sextant
