// Elementwise functions and chains of them against loops that count.
#include <gtest/gtest.h>

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
  const std::vector<Elementwise> cases = {{.count = 5, .input_count = 2, .function = F::kAdd},
                                          {.count = 3, .input_count = 4, .function = F::kAdd},
                                          {.count = 5, .input_count = 2, .function = F::kMultiply},
                                          {.count = 7, .input_count = 1, .function = F::kSquare},
                                          {.count = 2, .input_count = 1, .function = F::kScale},
                                          {.count = 6, .input_count = 1, .function = F::kExp}};
  for (const Elementwise& op : cases) {
    NaiveElementwise naive(op);
    ExpectCounted(op, naive);
  }
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

OperationAnalysis Analyze(const Operation& op) {
  const auto analysis = AnalyzeOperation({op, naive::kTypes}, "");
  EXPECT_THAT(analysis, IsOk());
  return analysis.value_or(OperationAnalysis());
}

// x 2 -> 4 bytes, then twice 4 -> 4: 6 + 8 + 8 bytes an element, in one kernel 2 + 4.
TEST(FusedChain, SavesTheRoundTripsBetween) {
  const auto analysis = Analyze(FusedChain{.count = 10, .steps = {{}, {}, {}}});
  EXPECT_EQ(analysis.forward.sum.moved(), Bytes(60));
  ASSERT_TRUE(analysis.unfused.has_value());
  EXPECT_EQ(analysis.unfused->sum.moved(), Bytes(220));
  EXPECT_EQ(analysis.unfused->sum.flops(), analysis.forward.sum.flops());
  EXPECT_EQ(analysis.unfused->steps.size(), 3u);
}

// Neither its input nor anything between is kept.
TEST(FusedChain, OfLinearStepsKeepsNothing) {
  const auto analysis =
      Analyze(FusedChain{.count = 10, .steps = {{.function = F::kScale}, {.function = F::kScale}}});
  EXPECT_TRUE(analysis.backward->saved.empty());
  EXPECT_EQ(analysis.backward->cost.sum.flops(), Flops(20));
  EXPECT_EQ(analysis.backward->cost.sum.moved(), Bytes(60));
}

// A declared function of f FLOPs: f for its derivative and 1 for the product, an input.
TEST(Elementwise, DeclaredFlopsAreTakenAsTheyAre) {
  const auto analysis =
      Analyze(Elementwise{.count = 10, .input_count = 3, .flops_per_element = 2.5});
  EXPECT_EQ(analysis.forward.sum.flops(), Flops(25));
  EXPECT_EQ(analysis.forward.sum.read, Bytes(60));
  EXPECT_EQ(analysis.forward.sum.written, Bytes(40));
  EXPECT_EQ(analysis.backward->cost.sum.flops(), Flops(105));
  EXPECT_EQ(analysis.backward_without_input->cost.sum.flops(), Flops(70));
  EXPECT_EQ(analysis.backward->saved_bytes, Bytes(60));
}

// The gradient of a sum is passed on as it is.
TEST(Elementwise, AdditionHasAFreeGradient) {
  const auto analysis = Analyze(Elementwise{.count = 10, .input_count = 2, .function = F::kAdd});
  EXPECT_EQ(analysis.backward->cost.sum.flops(), Flops(0));
  EXPECT_EQ(analysis.backward->cost.sum.moved(), Bytes(0));
  EXPECT_FALSE(analysis.backward->cost.sum.intensity().has_value());
}

}  // namespace
}  // namespace sextant
