// Activations, SwiGLU and dropout against loops that count.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "tests/engine/operation/naive.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using naive::Buffer;
using naive::Has;
using naive::Naive;
using naive::Number;
using A = ActivationFunction;

constexpr double kCube = 0.044715;
const double kRootTwoOverPi = std::sqrt(2 / std::numbers::pi);
const double kDensity = 1 / std::sqrt(2 * std::numbers::pi);

Number Sigmoid(Number x) { return Number(1) / (Number(1) + naive::Exp(-x)); }

// Both return x^2 (2 FLOPs' worth) and u, for the derivative to use.
struct Inner {
  Number square;
  Number u;
};
Inner TanhArgument(Number x) {
  const Number square = x * x;
  return {square, x * (Number(1) + square * kCube) * kRootTwoOverPi};
}

Number Forward(A function, Number x) {
  switch (function) {
    case A::kRelu:
      return x > 0 ? x : 0;
    case A::kSilu:
      return x / (Number(1) + naive::Exp(-x));
    case A::kGeluErf:
      return x * (Number(1) + naive::Erf(x * (1 / std::numbers::sqrt2))) * 0.5;
    case A::kGeluTanh:
      break;
  }
  return x * (Number(1) + naive::Tanh(TanhArgument(x).u)) * 0.5;
}

// `saved` is relu's output, the others' input.
Number Backward(A function, Number saved, Number dy) {
  const Number x = saved;
  switch (function) {
    case A::kRelu:
      return saved > 0 ? dy : 0;
    case A::kSilu: {
      const Number s = Sigmoid(x);
      return dy * (s * (Number(1) + x * (Number(1) - s)));
    }
    case A::kGeluErf: {
      const Number below = (Number(1) + naive::Erf(x * (1 / std::numbers::sqrt2))) * 0.5;
      const Number density = naive::Exp(x * x * -0.5) * kDensity;
      return dy * (below + x * density);
    }
    case A::kGeluTanh:
      break;
  }
  const Inner inner = TanhArgument(x);
  const Number t = naive::Tanh(inner.u);
  const Number du = (Number(1) + inner.square * (3 * kCube)) * kRootTwoOverPi;
  return dy * ((Number(1) + t) * 0.5 + x * 0.5 * (Number(1) - t * t) * du);
}

class NaiveActivation : public Naive {
 public:
  explicit NaiveActivation(const Activation& op) : op_(op) {
    Operand(op.count);
    Output(op.count);
  }
  void Forward() override {
    for (int64_t i = 0; i < op_.count; ++i) {
      output->Set(i, sextant::Forward(op_.function, (*operands[0])[i]));
    }
  }
  void Backward(OperandSet) override {
    const Buffer& saved = op_.function == A::kRelu ? *output : *operands[0];
    for (int64_t i = 0; i < op_.count; ++i) {
      gradient(0).Set(i, sextant::Backward(op_.function, saved[i], (*output_gradient)[i]));
    }
  }

 private:
  Activation op_;
};

TEST(ActivationsCounted, Activations) {
  for (const A function : {A::kRelu, A::kSilu, A::kGeluErf, A::kGeluTanh}) {
    for (const int64_t count : {1, 9}) {
      const Activation op = {.function = function, .count = count};
      NaiveActivation naive(op);
      ExpectCounted(op, naive);
    }
  }
}

class NaiveSwiGlu : public Naive {
 public:
  explicit NaiveSwiGlu(const SwiGlu& op) : count_(op.rows * op.columns) {
    Operand(count_);
    Operand(count_);
    Output(count_);
  }
  void Forward() override {
    for (int64_t i = 0; i < count_; ++i) {
      output->Set(i, sextant::Forward(A::kSilu, (*operands[0])[i]) * (*operands[1])[i]);
    }
  }
  void Backward(OperandSet needed) override {
    for (int64_t i = 0; i < count_; ++i) {
      const Number dy = (*output_gradient)[i];
      const Number x = (*operands[0])[i];
      const Number s = Sigmoid(x);
      if (Has(needed, 1)) gradient(1).Set(i, dy * (x * s));
      if (!Has(needed, 0)) continue;
      gradient(0).Set(i, dy * (*operands[1])[i] * (s * (Number(1) + x * (Number(1) - s))));
    }
  }

 private:
  int64_t count_;
};

TEST(ActivationsCounted, SwiGlu) {
  for (const SwiGlu& op : {SwiGlu{1, 1}, SwiGlu{3, 5}}) {
    NaiveSwiGlu naive(op);
    ExpectCounted(op, naive);
  }
}

// Keeps two elements of three.
class NaiveDropout : public Naive {
 public:
  explicit NaiveDropout(const Dropout& op) : count_(op.count) {
    Operand(count_);
    Output(count_);
    mask_ = New(count_, 1);
  }
  void Forward() override {
    for (int64_t i = 0; i < count_; ++i) {
      const bool kept = Number(static_cast<double>(i % 3)) > 0.5;
      mask_->Set(i, kept ? 1 : 0);
      const Number scaled = (*operands[0])[i] * 1.5;
      output->Set(i, kept ? scaled : 0);
    }
  }
  void Backward(OperandSet) override {
    for (int64_t i = 0; i < count_; ++i) {
      const Number scaled = (*output_gradient)[i] * 1.5;
      gradient(0).Set(i, (*mask_)[i].value() == 1 ? scaled : 0);
    }
  }

 private:
  int64_t count_;
  Buffer* mask_;
};

TEST(ActivationsCounted, Dropout) {
  for (const int64_t count : {1, 8}) {
    NaiveDropout naive({.count = count});
    ExpectCounted(Dropout{.count = count}, naive);
  }
}

// Rows of x 2 bytes, y and silu(gate) 4: 2 + 4, then 4 + 2 + 4; in one kernel 2 + 2 + 4.
TEST(SwiGlu, FusionSavesTheRoundTripOfSilu) {
  const auto analysis = AnalyzeOperation({SwiGlu{3, 5}, naive::kTypes}, "");
  ASSERT_THAT(analysis, IsOk());
  EXPECT_EQ(analysis->unfused->sum.moved(), Bytes(15 * 16));
  EXPECT_EQ(analysis->forward.sum.moved(), Bytes(15 * 8));
}

}  // namespace
}  // namespace sextant
