// Rotary embedding, embedding lookup, cross-entropy and optimizer updates against loops that count;
// copies between host and device.
#include <gtest/gtest.h>

#include <limits>

#include "engine/operation/roofline.h"
#include "tests/engine/operation/naive.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using naive::Buffer;
using naive::kAccumulationBytes;
using naive::kOutputBytes;
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
  naive::ExpectEachCounted<NaiveRotary, Rotary>(
      {Rotary{1, 1, 2}, Rotary{3, 2, 4}, Rotary{2, 5, 6}});
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
  naive::ExpectEachCounted<NaiveEmbedding, EmbeddingLookup>(
      {EmbeddingLookup{1, 2, 1}, EmbeddingLookup{3, 9, 4}});
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
  naive::ExpectEachCounted<NaiveCrossEntropy, CrossEntropy>(
      {CrossEntropy{1, 1}, CrossEntropy{1, 5}, CrossEntropy{4, 3}});
}

// 4 tokens of 3 logits, 2 bytes in, 4 out: 24 + 48, then 16 + 32 of ids + 4; in one kernel
// 24 + 32 + 4.
TEST(CrossEntropy, UnfusedWritesTheLogProbabilities) {
  const auto analysis = naive::Analyze(CrossEntropy{4, 3});
  EXPECT_EQ(analysis.unfused->sum.moved(), Bytes(124));
  EXPECT_EQ(analysis.forward.sum.moved(), Bytes(60));
}

TEST(EmbeddingLookup, HasNoArithmetic) {
  const auto analysis = naive::Analyze(EmbeddingLookup{4, 9, 3});
  EXPECT_EQ(analysis.forward.sum.flops(), Flops(0));
  EXPECT_EQ(analysis.forward.sum.intensity(), 0);
  EXPECT_FALSE(analysis.backward_without_input.has_value());  // the table is not an input
}

// torch.optim's formulas; hyperparameters, and what depends on them alone, are constants.
class NaiveUpdate : public Naive {
 public:
  explicit NaiveUpdate(const OptimizerUpdate& op) : op_(op) {
    Operand(op.parameters);
    weight_ = New(op.parameters, kOutputBytes);
    operands.push_back(weight_);
    master_ = op.master_weights ? New(op.parameters, kAccumulationBytes) : weight_;
    m_ = New(op.parameters, kAccumulationBytes);
    v_ = New(op.parameters, kAccumulationBytes);
    for (int64_t i = 0; i < op.parameters; ++i) m_->raw(i) = v_->raw(i) = 0.5;
  }
  void Forward() override {
    for (int64_t i = 0; i < op_.parameters; ++i) {
      const Number w = Updated(i, (*master_)[i], (*operands[0])[i]);
      master_->Set(i, w);
      weight_->Set(i, w);
    }
  }
  void Backward(OperandSet) override {}

 private:
  Number Keep(Buffer* state, int64_t i, Number value) {
    state->Set(i, value);
    return value;
  }
  Number Updated(int64_t i, Number w, Number g) {
    const double lr = 0.1;
    switch (op_.rule) {
      case UpdateRule::kSgd:
        return w - g * lr;
      case UpdateRule::kSgdMomentum:
        return w - Keep(m_, i, (*m_)[i] * 0.9 + g) * lr;
      case UpdateRule::kAdagrad:
        return w - g * lr / (naive::Sqrt(Keep(v_, i, (*v_)[i] + g * g)) + 1e-8);
      case UpdateRule::kRmsprop:
        return w - g * lr / (naive::Sqrt(Keep(v_, i, (*v_)[i] * 0.9 + g * g * 0.1)) + 1e-8);
      case UpdateRule::kLion: {
        const Number direction = (*m_)[i] * 0.9 + g * 0.1;
        Keep(m_, i, (*m_)[i] * 0.99 + g * 0.01);
        return w - (Number(direction > 0 ? 1 : -1) + w * 0.01) * lr;
      }
      case UpdateRule::kAdam:
      case UpdateRule::kAdamw:
        break;
    }
    const Number decayed = op_.rule == UpdateRule::kAdamw ? w * 0.999 : w;
    const Number m = Keep(m_, i, (*m_)[i] * 0.9 + g * 0.1) / 0.19;
    const Number v = Keep(v_, i, (*v_)[i] * 0.99 + g * g * 0.01) / 0.02;
    return decayed - m * lr / (naive::Sqrt(v) + 1e-8);
  }

  OptimizerUpdate op_;
  Buffer* weight_;
  Buffer* master_;
  Buffer* m_;
  Buffer* v_;
};

TEST(UpdatesCounted, EveryRule) {
  using R = UpdateRule;
  for (const R rule :
       {R::kSgd, R::kSgdMomentum, R::kAdagrad, R::kRmsprop, R::kAdam, R::kAdamw, R::kLion}) {
    for (const bool master : {false, true}) {
      const OptimizerUpdate op = {.parameters = 7, .rule = rule, .master_weights = master};
      NaiveUpdate naive(op);
      const Naive::Tally tally = naive.RunForward();
      const auto analysis = naive::Analyze(op);
      const CostSum& sum = analysis.forward.sum;
      EXPECT_EQ(sum.flops().value(), tally.counts.plain + tally.counts.transcendental);
      EXPECT_EQ(sum.read.value(), tally.bytes_read) << static_cast<int>(rule) << master;
      EXPECT_EQ(sum.written.value(), tally.bytes_written) << static_cast<int>(rule) << master;
      EXPECT_FALSE(analysis.backward.has_value());
    }
  }
}

// bf16 gradient 2, fp32 master 4, m 4, v 4 read; bf16 weight 2, master, m, v written.
TEST(OptimizerUpdate, OfMixedAdamwMoves28BytesAParameter) {
  const auto analysis = naive::Analyze(OptimizerUpdate{.parameters = 1000, .master_weights = true},
                                       {.input = DataType::kBf16});
  EXPECT_EQ(analysis.forward.sum.read, Bytes(14'000));
  EXPECT_EQ(analysis.forward.sum.written, Bytes(14'000));
}

TEST(HostCopy, FromPageableMemoryMovesTwice) {
  HostCopy copy = {.bytes = 1000, .pinned = true, .link = BytesPerSecond(100)};
  const OperationTypes types = {.input = DataType::kBf16};
  EXPECT_EQ(AnalyzeOperation({copy, types}, "")->forward.sum.moved(), Bytes(2000));
  EXPECT_EQ(TimeOf(copy).no_overlap, Seconds(10));
  EXPECT_EQ(TimeOf(copy).full_overlap, Seconds(10));

  copy.pinned = false;
  copy.staging = BytesPerSecond(50);
  EXPECT_EQ(AnalyzeOperation({copy, types}, "")->forward.sum.moved(), Bytes(4000));
  EXPECT_EQ(TimeOf(copy).no_overlap, Seconds(30));
  EXPECT_EQ(TimeOf(copy).full_overlap, Seconds(20));
}

}  // namespace
}  // namespace sextant
