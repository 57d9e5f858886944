// Elementwise functions and chains of them, activations, SwiGLU and dropout against loops that
// count.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "absl/types/span.h"
#include "tests/engine/operation/naive.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using naive::Buffer;
using naive::Has;
using naive::Naive;
using naive::Number;
using F = ElementwiseFunction;

// The function of one element, and its derivative with respect to argument `which`.
Number Apply(F function, absl::Span<const Number> x) {
  switch (function) {
    case F::kAdd: {
      Number sum = x[0];
      for (size_t i = 1; i < x.size(); ++i) sum += x[i];
      return sum;
    }
    case F::kMultiply:
      return x[0] * x[1];
    case F::kSquare:
      return x[0] * x[0];
    case F::kScale:
      return x[0] * 3;
    case F::kExp:
      return naive::Exp(x[0]);
    case F::kGeneral:
      break;
  }
  return x[0];
}

class NaiveElementwise : public Naive {
 public:
  explicit NaiveElementwise(const Elementwise& op) : op_(op) {
    for (int64_t i = 0; i < op.input_count; ++i) Operand(op.count);
    Output(op.count);
  }
  void Forward() override {
    for (int64_t i = 0; i < op_.count; ++i) {
      std::vector<Number> x;
      for (const Buffer* operand : operands) x.push_back((*operand)[i]);
      output->Set(i, Apply(op_.function, x));
    }
  }
  void Backward(OperandSet needed) override {
    const Buffer& dy = *output_gradient;
    for (size_t which = 0; which < operands.size(); ++which) {
      if (!Has(needed, which)) continue;
      for (int64_t i = 0; i < op_.count; ++i) {
        if (op_.function == F::kAdd) {
          gradient(which).raw(i) = output_gradient->raw(i);  // passed on: nothing moves
        } else if (op_.function == F::kMultiply) {
          gradient(which).Set(i, dy[i] * (*operands[1 - which])[i]);
        } else if (op_.function == F::kSquare) {
          gradient(which).Set(i, dy[i] * ((*operands[0])[i] * 2));
        } else if (op_.function == F::kScale) {
          gradient(which).Set(i, dy[i] * 3);
        } else {
          gradient(which).Set(i, dy[i] * (*output)[i]);
        }
      }
    }
  }

 private:
  Elementwise op_;
};

TEST(ElementwiseCounted, NamedFunctions) {
  naive::ExpectEachCounted<NaiveElementwise, Elementwise>(
      {{.count = 5, .input_count = 2, .function = F::kAdd},
       {.count = 3, .input_count = 4, .function = F::kAdd},
       {.count = 5, .input_count = 2, .function = F::kMultiply},
       {.count = 7, .input_count = 1, .function = F::kSquare},
       {.count = 2, .input_count = 1, .function = F::kScale},
       {.count = 6, .input_count = 1, .function = F::kExp}});
}

// A chain in one kernel, x then (x ... ) of each step; its gradient does the steps again.
class NaiveChain : public Naive {
 public:
  explicit NaiveChain(const FusedChain& op) : op_(op) {
    Operand(op.count);
    for (const ChainStep& step : op.steps) {
      first_extra_.push_back(operands.size());
      for (int64_t i = 0; i < step.extra_input_count; ++i) Operand(op.count);
    }
    Output(op.count);
  }
  void Forward() override {
    for (int64_t i = 0; i < op_.count; ++i) output->Set(i, Run(i, op_.steps.size()).back());
  }
  void Backward(OperandSet needed) override {
    for (int64_t i = 0; i < op_.count; ++i) {
      // Only exp needs the last step's result.
      const bool last_too = op_.steps.back().function == F::kExp;
      const std::vector<Number> value = Run(i, op_.steps.size() - (last_too ? 0 : 1));
      Number d = (*output_gradient)[i];
      for (size_t step = op_.steps.size(); step-- > 0;) {
        Extras(i, step, value[step], d, needed);
        OperandSet before = 0;  // operands that the running array depends on
        for (size_t bit = 0; bit < first_extra_[step]; ++bit) before |= OperandBit(bit);
        if ((needed & before) == 0) break;
        d = Derivative(i, step, value, d);
      }
      if (Has(needed, 0)) gradient(0).Set(i, d);
    }
  }

 private:
  std::vector<Number> Run(int64_t i, size_t steps) const {
    std::vector<Number> value = {(*operands[0])[i]};
    for (size_t s = 0; s < op_.steps.size(); ++s) {
      std::vector<Number> x = {value.back()};
      for (int64_t e = 0; e < op_.steps[s].extra_input_count; ++e) {
        x.push_back((*operands[first_extra_[s] + static_cast<size_t>(e)])[i]);
      }
      if (s < steps) value.push_back(Apply(op_.steps[s].function, x));
    }
    return value;
  }
  Number Derivative(int64_t i, size_t step, const std::vector<Number>& value, Number d) const {
    switch (op_.steps[step].function) {
      case F::kMultiply:
        return d * (*operands[first_extra_[step]])[i];
      case F::kSquare:
        return d * (value[step] * 2);
      case F::kScale:
        return d * 3;
      case F::kExp:
        return d * value[step + 1];
      default:
        return d;
    }
  }
  void Extras(int64_t i, size_t step, Number x, Number d, OperandSet needed) {
    for (int64_t e = 0; e < op_.steps[step].extra_input_count; ++e) {
      const size_t operand = first_extra_[step] + static_cast<size_t>(e);
      if (!Has(needed, operand)) continue;
      gradient(operand).Set(i, op_.steps[step].function == F::kMultiply ? d * x : d);
    }
  }

  FusedChain op_;
  std::vector<size_t> first_extra_;
};

TEST(ElementwiseCounted, FusedChains) {
  const ChainStep add = {.function = F::kAdd, .extra_input_count = 1};
  const ChainStep multiply = {.function = F::kMultiply, .extra_input_count = 1};
  const ChainStep square = {.function = F::kSquare};
  const ChainStep exp = {.function = F::kExp};
  const std::vector<std::vector<ChainStep>> chains = {
      {square},           {exp},           {multiply, square},
      {square, exp},      {exp, square},   {add, square, multiply},
      {square, exp, add}, {multiply, exp}, {square, add, {.function = F::kScale}, exp}};
  for (const auto& steps : chains) {
    const FusedChain op = {.count = 4, .steps = steps};
    NaiveChain naive(op);
    ExpectCounted(op, naive);
  }
}

// x 2 -> 4 bytes, then twice 4 -> 4: 6 + 8 + 8 bytes an element, in one kernel 2 + 4.
TEST(FusedChain, SavesTheRoundTripsBetween) {
  const auto analysis = naive::Analyze(FusedChain{.count = 10, .steps = {{}, {}, {}}});
  EXPECT_EQ(analysis.forward.sum.moved(), Bytes(60));
  ASSERT_TRUE(analysis.unfused.has_value());
  EXPECT_EQ(analysis.unfused->sum.moved(), Bytes(220));
  EXPECT_EQ(analysis.unfused->sum.flops(), analysis.forward.sum.flops());
  EXPECT_EQ(analysis.unfused->steps.size(), 3u);
}

// Neither its input nor anything between is kept.
TEST(FusedChain, OfLinearStepsKeepsNothing) {
  const auto analysis = naive::Analyze(
      FusedChain{.count = 10, .steps = {{.function = F::kScale}, {.function = F::kScale}}});
  EXPECT_TRUE(analysis.backward->saved.empty());
  EXPECT_EQ(analysis.backward->cost.sum.flops(), Flops(20));
  EXPECT_EQ(analysis.backward->cost.sum.moved(), Bytes(60));
}

// A declared function of f FLOPs: f for its derivative and 1 for the product, an input.
TEST(Elementwise, DeclaredFlopsAreTakenAsTheyAre) {
  const auto analysis =
      naive::Analyze(Elementwise{.count = 10, .input_count = 3, .flops_per_element = 2.5});
  EXPECT_EQ(analysis.forward.sum.flops(), Flops(25));
  EXPECT_EQ(analysis.forward.sum.read, Bytes(60));
  EXPECT_EQ(analysis.forward.sum.written, Bytes(40));
  EXPECT_EQ(analysis.backward->cost.sum.flops(), Flops(105));
  EXPECT_EQ(analysis.backward_without_input->cost.sum.flops(), Flops(70));
  EXPECT_EQ(analysis.backward->saved_bytes, Bytes(60));
}

// The gradient of a sum is passed on as it is.
TEST(Elementwise, AdditionHasAFreeGradient) {
  const auto analysis =
      naive::Analyze(Elementwise{.count = 10, .input_count = 2, .function = F::kAdd});
  EXPECT_EQ(analysis.backward->cost.sum.flops(), Flops(0));
  EXPECT_EQ(analysis.backward->cost.sum.moved(), Bytes(0));
  EXPECT_FALSE(analysis.backward->cost.sum.intensity().has_value());
}

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
  naive::ExpectEachCounted<NaiveSwiGlu, SwiGlu>({SwiGlu{1, 1}, SwiGlu{3, 5}});
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
  naive::ExpectEachCounted<NaiveDropout, Dropout>({{.count = 1}, {.count = 8}});
}

// Rows of x 2 bytes, y and silu(gate) 4: 2 + 4, then 4 + 2 + 4; in one kernel 2 + 2 + 4.
TEST(SwiGlu, FusionSavesTheRoundTripOfSilu) {
  const auto analysis = naive::Analyze(SwiGlu{3, 5});
  EXPECT_EQ(analysis.unfused->sum.moved(), Bytes(15 * 16));
  EXPECT_EQ(analysis.forward.sum.moved(), Bytes(15 * 8));
}

}  // namespace
}  // namespace sextant
