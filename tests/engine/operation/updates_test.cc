// Optimizer updates against loops that count; copies between host and device.
#include <gtest/gtest.h>

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
      const auto analysis = AnalyzeOperation({op, naive::kTypes}, "");
      ASSERT_THAT(analysis, IsOk());
      const CostSum& sum = analysis->forward.sum;
      EXPECT_EQ(sum.flops().value(), tally.counts.plain + tally.counts.transcendental);
      EXPECT_EQ(sum.read.value(), tally.bytes_read) << static_cast<int>(rule) << master;
      EXPECT_EQ(sum.written.value(), tally.bytes_written) << static_cast<int>(rule) << master;
      EXPECT_FALSE(analysis->backward.has_value());
    }
  }
}

// bf16 gradient 2, fp32 master 4, m 4, v 4 read; bf16 weight 2, master, m, v written.
TEST(OptimizerUpdate, OfMixedAdamwMoves28BytesAParameter) {
  const auto analysis = AnalyzeOperation(
      {OptimizerUpdate{.parameters = 1000, .master_weights = true}, {.input = DataType::kBf16}},
      "");
  ASSERT_THAT(analysis, IsOk());
  EXPECT_EQ(analysis->forward.sum.read, Bytes(14'000));
  EXPECT_EQ(analysis->forward.sum.written, Bytes(14'000));
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
