// Rotary embedding, embedding lookup and cross-entropy against loops that count.
#include <gtest/gtest.h>

#include <limits>

#include "tests/engine/operation/naive.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using naive::Buffer;
using naive::kAccumulationBytes;
using naive::Naive;
using naive::Number;

class NaiveRotary : public Naive {
 public:
  explicit NaiveRotary(const Rotary& op) : op_(op), half_(op.head_size / 2) {
    Operand(op.tokens * op.heads * op.head_size);
    Operand(op.tokens * half_, false);
    Operand(op.tokens * half_, false);
    Output(op.tokens * op.heads * op.head_size);
  }
  void Forward() override { Turn(*operands[0], *output, false); }
  void Backward(OperandSet) override { Turn(*output_gradient, gradient(0), true); }

 private:
  void Turn(const Buffer& from, Buffer& to, bool back) const {
    for (int64_t t = 0; t < op_.tokens; ++t) {
      for (int64_t h = 0; h < op_.heads; ++h) {
        for (int64_t d = 0; d < half_; ++d) {
          const int64_t i = (t * op_.heads + h) * op_.head_size + d;
          const Number c = (*operands[1])[t * half_ + d];
          const Number sine = (*operands[2])[t * half_ + d];
          const Number s = back ? -sine : sine;
          to.Set(i, from[i] * c - from[i + half_] * s);
          to.Set(i + half_, from[i + half_] * c + from[i] * s);
        }
      }
    }
  }

  Rotary op_;
  int64_t half_;
};

TEST(TokensCounted, Rotary) {
  for (const Rotary& op : {Rotary{1, 1, 2}, Rotary{3, 2, 4}, Rotary{2, 5, 6}}) {
    NaiveRotary naive(op);
    ExpectCounted(op, naive);
  }
}

// Token t looks up row 2 t + 1, so that each row is read once, and the gradient is dense.
class NaiveEmbedding : public Naive {
 public:
  explicit NaiveEmbedding(const EmbeddingLookup& op) : op_(op) {
    Operand(op.vocabulary * op.width);
    operands.push_back(New(op.tokens, 8));
    gradients.push_back(nullptr);
    for (int64_t t = 0; t < op.tokens; ++t) {
      operands[1]->raw(t) = static_cast<double>(2 * t + 1);
    }
    Output(op.tokens * op.width);
  }
  void Forward() override {
    for (int64_t t = 0; t < op_.tokens; ++t) {
      for (int64_t w = 0; w < op_.width; ++w) {
        output->Set(t * op_.width + w, (*operands[0])[Row(t) * op_.width + w]);
      }
    }
  }
  void Backward(OperandSet) override {
    std::vector<Number> sums(static_cast<size_t>(op_.vocabulary * op_.width));
    for (int64_t t = 0; t < op_.tokens; ++t) {
      for (int64_t w = 0; w < op_.width; ++w) {
        sums[static_cast<size_t>(Row(t) * op_.width + w)] += (*output_gradient)[t * op_.width + w];
      }
    }
    for (size_t i = 0; i < sums.size(); ++i) gradient(0).Set(static_cast<int64_t>(i), sums[i]);
  }

 private:
  int64_t Row(int64_t t) const { return static_cast<int64_t>((*operands[1])[t].value()); }
  EmbeddingLookup op_;
};

TEST(TokensCounted, EmbeddingLookup) {
  for (const EmbeddingLookup& op : {EmbeddingLookup{1, 2, 1}, EmbeddingLookup{3, 9, 4}}) {
    NaiveEmbedding naive(op);
    ExpectCounted(op, naive);
  }
}

class NaiveCrossEntropy : public Naive {
 public:
  explicit NaiveCrossEntropy(const CrossEntropy& op) : op_(op), v_(op.vocabulary) {
    Operand(op.tokens * op.vocabulary);
    operands.push_back(New(op.tokens, 8));
    gradients.push_back(nullptr);
    for (int64_t t = 0; t < op.tokens; ++t) operands[1]->raw(t) = static_cast<double>(t % v_);
    Output(1);
    log_sums_ = New(op.tokens, kAccumulationBytes);
    log_sums_->counted_forward = false;
  }
  void Forward() override {
    Number total = 0;
    for (int64_t t = 0; t < op_.tokens; ++t) {
      Number largest = -std::numeric_limits<double>::infinity();
      for (int64_t i = 0; i < v_; ++i) largest = At(t, i) > largest ? At(t, i) : largest;
      Number sum = 0;
      for (int64_t i = 0; i < v_; ++i) sum += naive::Exp(At(t, i) - largest);
      const Number log_sum = largest + naive::Log(sum);
      log_sums_->Set(t, log_sum);
      total += log_sum - At(t, Target(t));
    }
    output->Set(0, total / static_cast<double>(op_.tokens));
  }
  void Backward(OperandSet) override {
    const Number each = (*output_gradient)[0] / static_cast<double>(op_.tokens);
    for (int64_t t = 0; t < op_.tokens; ++t) {
      for (int64_t i = 0; i < v_; ++i) {
        Number p = naive::Exp(At(t, i) - (*log_sums_)[t]);
        if (i == Target(t)) p = p - 1;
        gradient(0).Set(t * v_ + i, p * each);
      }
    }
  }

 private:
  Number At(int64_t t, int64_t i) const { return (*operands[0])[t * v_ + i]; }
  int64_t Target(int64_t t) const { return static_cast<int64_t>((*operands[1])[t].value()); }

  CrossEntropy op_;
  int64_t v_;
  Buffer* log_sums_;
};

TEST(TokensCounted, CrossEntropy) {
  for (const CrossEntropy& op : {CrossEntropy{1, 1}, CrossEntropy{1, 5}, CrossEntropy{4, 3}}) {
    NaiveCrossEntropy naive(op);
    ExpectCounted(op, naive);
  }
}

// 4 tokens of 3 logits, 2 bytes in, 4 out: 24 + 48, then 16 + 32 of ids + 4; in one kernel
// 24 + 32 + 4.
TEST(CrossEntropy, UnfusedWritesTheLogProbabilities) {
  const auto analysis = AnalyzeOperation({CrossEntropy{4, 3}, naive::kTypes}, "");
  ASSERT_THAT(analysis, IsOk());
  EXPECT_EQ(analysis->unfused->sum.moved(), Bytes(124));
  EXPECT_EQ(analysis->forward.sum.moved(), Bytes(60));
}

TEST(EmbeddingLookup, HasNoArithmetic) {
  const auto analysis = AnalyzeOperation({EmbeddingLookup{4, 9, 3}, naive::kTypes}, "");
  ASSERT_THAT(analysis, IsOk());
  EXPECT_EQ(analysis->forward.sum.flops(), Flops(0));
  EXPECT_EQ(analysis->forward.sum.intensity(), 0);
  EXPECT_FALSE(analysis->backward_without_input.has_value());  // the table is not an input
}

}  // namespace
}  // namespace sextant
