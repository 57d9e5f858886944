// Einsums against loops over every index, their gradients against differences.
#include "engine/tensor/expression/einsum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/operation/analysis.h"
#include "tests/engine/tensor/expression/random_einsum.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;
using Names = std::vector<std::string>;

// Three widths, so that an array in the wrong type shows.
constexpr OperationTypes kTypes = {.input = DataType::kBf16, .output = DataType::kFp32};
constexpr int64_t kInputBytes = 2;
constexpr int64_t kEinsumOutputBytes = 4;

// The axes of `wanted` that some of `tensors` has.
Names AxesIn(const std::vector<NamedTensor>& tensors, const Names& wanted) {
  Names out;
  for (const std::string& axis : wanted) {
    const bool present = std::any_of(tensors.begin(), tensors.end(), [&axis](const auto& t) {
      return std::count(t.axes.begin(), t.axes.end(), axis) > 0;
    });
    if (present) out.push_back(axis);
  }
  return out;
}

NamedTensor OnesOf(const NamedTensor& like) {
  NamedTensor ones = like;
  int64_t number = 0;
  for (auto& [index, value] : ones.at) value = 1 + ++number % 5;
  return ones;
}

// The loss: the sum of the result times `gradient`, element by element.
int64_t Loss(const EinsumQuestion& q, const NamedTensor& gradient) {
  int64_t loss = 0;
  for (const auto& [index, value] : ContractNaively(q.tensors, q.output, q.sizes).result.at) {
    loss += value * gradient.at.at(index);
  }
  return loss;
}

// The result is linear in each operand, so that differences are exact.
void ExpectTrueGradient(EinsumQuestion q, size_t operand, const NamedTensor& result_gradient,
                        const NamedTensor& gradient) {
  NamedTensor& x = q.tensors[operand];
  const int64_t before = Loss(q, result_gradient);
  for (auto& [index, value] : x.at) {
    value += 1;
    std::vector<int64_t> place;
    for (const std::string& axis : gradient.axes) {
      const auto at = std::find(x.axes.begin(), x.axes.end(), axis);
      place.push_back(index[static_cast<size_t>(at - x.axes.begin())]);
    }
    EXPECT_EQ(gradient.at.at(place), Loss(q, result_gradient) - before) << operand;
    value -= 1;
  }
}

int64_t ScratchBytes(const OperationCost& cost) {
  int64_t bytes = 0;
  for (const StepCost& step : cost.steps) {
    for (const TrafficTerm& term : step.traffic) {
      if (term.array.role == ArrayRole::kScratch) bytes += term.size.value();
    }
  }
  return bytes;
}

int64_t Elements(const NamedTensor& tensor) { return static_cast<int64_t>(tensor.at.size()); }

// The tensors of a forward pass in the order that `order` says, every one of them made by loops.
std::vector<NamedTensor> TensorsOf(const EinsumQuestion& q, const ContractionOrder& order) {
  std::vector<NamedTensor> out = q.tensors;
  for (const ContractionStep& step : order.steps) {
    std::vector<NamedTensor> pair = {out[static_cast<size_t>(step.left)]};
    if (step.right >= 0) pair.push_back(out[static_cast<size_t>(step.right)]);
    const bool last = &step == &order.steps.back();
    const Names axes = last ? q.output : Names(absl::StrSplit(step.axes, ' ', absl::SkipEmpty()));
    out.push_back(ContractNaively(pair, axes, q.sizes).result);
  }
  return out;
}

// The cost of the gradient of one tensor alone.
struct NaiveGradient {
  NamedTensor gradient;
  double flops = 0;
  int64_t read_bytes = 0;
  int64_t between_bytes = 0;  // written and read again
  size_t steps = 0;
};

// Back from the result's gradient to operand `operand`, step by step, in loops that count.
NaiveGradient GoBack(const EinsumQuestion& q, const ContractionOrder& order, size_t operand,
                     const NamedTensor& result_gradient) {
  const std::vector<NamedTensor> tensors = TensorsOf(q, order);
  const size_t count = q.tensors.size();
  std::vector<std::set<size_t>> made_of(tensors.size());
  for (size_t i = 0; i < count; ++i) made_of[i] = {i};
  for (size_t i = 0; i < order.steps.size(); ++i) {
    for (const int part : {order.steps[i].left, order.steps[i].right}) {
      if (part < 0) continue;
      const auto& of = made_of[static_cast<size_t>(part)];
      made_of[count + i].insert(of.begin(), of.end());
    }
  }
  NaiveGradient out = {.gradient = result_gradient};
  for (size_t i = order.steps.size(); i-- > 0;) {
    if (made_of[count + i].count(operand) == 0) continue;
    const ContractionStep& step = order.steps[i];
    const bool from_left = made_of[static_cast<size_t>(step.left)].count(operand) > 0;
    const int of = from_left ? step.left : step.right;
    const int other = from_left ? step.right : step.left;
    std::vector<NamedTensor> parts = {out.gradient};
    out.read_bytes += Elements(out.gradient) * kEinsumOutputBytes;
    if (other >= 0) {
      parts.push_back(tensors[static_cast<size_t>(other)]);
      const bool is_operand = static_cast<size_t>(other) < count;
      out.read_bytes += Elements(parts[1]) * (is_operand ? kInputBytes : kEinsumOutputBytes);
    }
    const Names axes = AxesIn(parts, tensors[static_cast<size_t>(of)].axes);
    const CountedContraction counted = ContractNaively(parts, axes, q.sizes);
    out.flops += static_cast<double>(counted.multiplications + counted.additions);
    out.gradient = counted.result;
    ++out.steps;
    if (static_cast<size_t>(of) >= count) {
      out.between_bytes += Elements(out.gradient) * kEinsumOutputBytes;
    }
  }
  return out;
}

// FLOPs of the gradient of `operand` alone.
void ExpectGradient(const EinsumQuestion& q, const OpKernels& kernels,
                    const ContractionOrder& order, size_t operand,
                    const NamedTensor& result_gradient) {
  const NaiveGradient naive = GoBack(q, order, operand, result_gradient);
  ExpectTrueGradient(q, operand, result_gradient, naive.gradient);
  const auto cost = BackwardCostOf(kernels, OperandBit(operand));
  ASSERT_THAT(cost, IsOk());
  EXPECT_EQ(cost->cost.sum.flops().value(), naive.flops) << operand;
  EXPECT_EQ(cost->cost.steps.size(), naive.steps);
  EXPECT_EQ(cost->cost.sum.read.value(), naive.read_bytes);
  EXPECT_EQ(cost->cost.sum.written.value(),
            *ElementCount(q.shapes[operand]) * kInputBytes + naive.between_bytes);
  EXPECT_EQ(cost->saved.size(), q.tensors.size() == 1 ? 0 : naive.steps);
}

void ExpectForward(const EinsumQuestion& q, const Einsum& op, const OperationCost& cost) {
  const auto einsum = EinsumCostOf(op.expression, op.operands, op.style);
  ASSERT_THAT(einsum, IsOk());
  const ContractionOrder& order = op.left_to_right ? einsum->left_to_right.value() : einsum->best;
  EXPECT_EQ(cost.sum.flops(), order.flops);
  ASSERT_EQ(cost.steps.size(), order.steps.size());
  int64_t read = 0;
  int64_t between = 0;
  for (const NamedTensor& tensor : q.tensors) read += Elements(tensor) * kInputBytes;
  for (size_t i = 0; i < order.steps.size(); ++i) {
    const bool product = order.steps[i].sums && order.steps[i].right >= 0;
    EXPECT_EQ(cost.steps[i].sum.matrix_flops, product ? order.steps[i].flops : Flops(0));
    if (i + 1 < order.steps.size()) between += order.steps[i].result_elements * kEinsumOutputBytes;
  }
  EXPECT_EQ(cost.sum.read.value(), read + between);
  EXPECT_EQ(cost.sum.written.value(), einsum->result_elements * kEinsumOutputBytes + between);
}

TEST(EinsumOracle, CostsAreThoseOfLoopsAndGradientsAreTrue) {
  RandomEinsums random(44);
  for (int i = 0; i < 400; ++i) {
    const EinsumQuestion q = random.Next(1 + static_cast<size_t>(i) % 4, i % 2 == 0);
    SCOPED_TRACE(q.expression);
    const EinsumStyle style = i % 2 == 0 ? EinsumStyle::kLetters : EinsumStyle::kNamed;
    const Einsum op = {.expression = q.expression,
                       .operands = q.shapes,
                       .style = style,
                       .left_to_right = i % 3 == 0};
    const auto analysis = AnalyzeOperation({op, kTypes}, "");
    ASSERT_THAT(analysis, IsOk());
    ExpectForward(q, op, analysis->forward);
    const NamedTensor gradient = OnesOf(ContractNaively(q.tensors, q.output, q.sizes).result);
    const OpKernels kernels = OpKernelsOf(op, {analysis->types, {}});
    const auto einsum = EinsumCostOf(op.expression, op.operands, op.style);
    const ContractionOrder& order = op.left_to_right ? *einsum->left_to_right : einsum->best;
    for (size_t k = 0; k < q.tensors.size(); ++k) {
      ExpectGradient(q, kernels, order, k, gradient);
    }
    // For all gradients together every step is done once, for both of its tensors.
    const size_t pairs = q.tensors.size() - 1;
    EXPECT_EQ(analysis->backward->cost.steps.size(), std::max<size_t>(2 * pairs, 1));
    if (::testing::Test::HasFailure()) return;
  }
}

// Scores of attention: 2 b s t h forward, and as much for each of the two gradients.
TEST(Einsum, OfTwoOperandsIsOneProduct) {
  const Einsum op = {.expression = "b s h, b t h -> b s t", .operands = {{2, 3, 4}, {2, 5, 4}}};
  const auto analysis = AnalyzeOperation({op, kTypes}, "");
  ASSERT_THAT(analysis, IsOk());
  EXPECT_EQ(analysis->name, "einsum");
  EXPECT_EQ(analysis->outputs[0].shape, (Shape{2, 3, 5}));
  EXPECT_EQ(analysis->forward.sum.matrix_flops, Flops(2 * 2 * 3 * 5 * 4));
  EXPECT_EQ(analysis->forward.sum.read, Bytes((24 + 40) * 2));
  EXPECT_EQ(analysis->forward.steps[0].name, "result = einsum(operand 0, operand 1)");
  EXPECT_EQ(analysis->forward.steps[0].arithmetic[0].reason,
            "2 x 120: a multiply-add at each index of all axes");
  EXPECT_FALSE(analysis->unfused.has_value());
  EXPECT_EQ(analysis->backward->cost.sum.matrix_flops, Flops(2 * 240));
  EXPECT_EQ(analysis->backward->cost.steps[1].name, "d(operand 1) = einsum(d(result), operand 0)");
  EXPECT_EQ(analysis->backward->saved[0].reason,
            "d(operand 0) = einsum(d(result), operand 1) reads it");
}

// (2 x 8)(8 x 3)(3 x 1): from the right 2 x 8 x 3 + 2 x 2 x 8 FLOPs, from the left 2 x 2 x 8 x 3
// + 2 x 2 x 3. What lies between moves twice.
TEST(Einsum, OfThreeOperandsTakesTheOrderAskedFor) {
  Einsum op = {.expression = "a b, b c, c d -> a d", .operands = {{2, 8}, {8, 3}, {3, 1}}};
  const auto best = AnalyzeOperation({op, kTypes}, "");
  ASSERT_THAT(best, IsOk());
  EXPECT_EQ(best->forward.sum.flops(), Flops(48 + 32));
  EXPECT_THAT(best->forward.steps[0].name, "result part 1 = einsum(operand 1, operand 2)");
  EXPECT_EQ(ScratchBytes(best->forward), 2 * 8 * kEinsumOutputBytes);
  op.left_to_right = true;
  const auto left = AnalyzeOperation({op, kTypes}, "");
  ASSERT_THAT(left, IsOk());
  EXPECT_EQ(left->forward.sum.flops(), Flops(96 + 12));
  EXPECT_EQ(ScratchBytes(left->forward), 2 * 6 * kEinsumOutputBytes);
  // Two products for each of the forward pass's, all of the same size.
  EXPECT_EQ(best->backward->cost.sum.flops(), Flops(2 * (48 + 32)));
  EXPECT_EQ(left->backward->cost.sum.flops(), Flops(2 * (96 + 12)));
  EXPECT_EQ(best->backward->cost.steps[1].name, "d(result part 1) = einsum(d(result), operand 0)");
  EXPECT_EQ(best->backward->cost.steps[3].name,
            "d(operand 2) = einsum(d(result part 1), operand 1)");
  // Both operands of each step: the part between among them, which the forward pass keeps.
  ASSERT_EQ(best->backward->saved.size(), 4u);
  EXPECT_EQ(best->backward->saved[0].array.name, "result part 1");
  EXPECT_EQ(best->backward->saved_bytes,
            Bytes(8 * kEinsumOutputBytes + (16 + 24 + 3) * kInputBytes));
}

// A diagonal reads its elements alone, and its gradient is written whole; a sum's gradient
// takes no arithmetic, and nothing is kept for it.
TEST(Einsum, OfOneOperandHasAGradientThatIsOnlyWritten) {
  const auto trace =
      AnalyzeOperation({Einsum{.expression = "ii->", .operands = {{5, 5}}}, kTypes}, "");
  ASSERT_THAT(trace, IsOk());
  EXPECT_EQ(trace->forward.sum.other_flops, Flops(5));
  EXPECT_EQ(trace->forward.sum.read, Bytes(5 * 2));
  EXPECT_EQ(trace->backward->cost.sum.flops(), Flops(0));
  EXPECT_EQ(trace->backward->cost.sum.read, Bytes(4));
  EXPECT_EQ(trace->backward->cost.sum.written, Bytes(25 * 2));
  EXPECT_TRUE(trace->backward->saved.empty());
  EXPECT_FALSE(trace->backward_without_input.has_value());
}

// Elementwise and outer products are not matrix products.
TEST(Einsum, WithoutASumIsNoMatrixProduct) {
  const auto outer =
      AnalyzeOperation({Einsum{.expression = "i,j->ij", .operands = {{3}, {4}}}, kTypes}, "");
  ASSERT_THAT(outer, IsOk());
  EXPECT_EQ(outer->forward.sum.matrix_flops, Flops(0));
  EXPECT_EQ(outer->forward.sum.other_flops, Flops(12));
  EXPECT_EQ(outer->backward->cost.sum.matrix_flops, Flops(48));
}

TEST(Einsum, OfSixtyFourOperandsHasAsManyGradients) {
  Einsum op;
  for (int i = 0; i < kMaxOperands; ++i) {
    absl::StrAppend(&op.expression, i == 0 ? "" : ", ", "a", i, " a", i + 1);
    op.operands.push_back({2, 2});
  }
  absl::StrAppend(&op.expression, " -> a0 a64");
  const auto analysis = AnalyzeOperation({op, kTypes}, "");
  ASSERT_THAT(analysis, IsOk());
  EXPECT_EQ(analysis->forward.sum.flops(), Flops(63 * 16));
  EXPECT_EQ(analysis->backward->cost.sum.flops(), Flops(2 * 63 * 16));
}

// Outer products of 40 vectors of two numbers each: up to 40 axes, more than a tensor has.
TEST(Einsum, MergesAxesOfIntermediatesBeyondThirtyTwo) {
  Einsum op = {.expression = "", .operands = {}, .left_to_right = true};
  for (int i = 0; i < 48; ++i) {
    absl::StrAppend(&op.expression, i == 0 ? "" : ", ", "a", i < 40 ? i : i - 8);
    op.operands.push_back({2});
  }
  absl::StrAppend(&op.expression, " ->");
  for (int i = 0; i < kMaxAxes; ++i) absl::StrAppend(&op.expression, " a", i);
  const auto analysis = AnalyzeOperation({op, kTypes}, "");
  ASSERT_THAT(analysis, IsOk());
  const auto& widest = analysis->forward.steps[38].traffic[2].array;
  EXPECT_EQ(widest.shape.size(), static_cast<size_t>(kMaxAxes));
  EXPECT_EQ(ElementCount(widest.shape), int64_t{1} << 40);
}

TEST(Einsum, NamesThePlaceOfAFault) {
  struct Case {
    Einsum op;
    const char* field;
    const char* what;
  };
  const int64_t large = kMaxDimension;
  const std::vector<Case> cases = {
      {{"b s, s -> b t", {{2, 3}, {3}}}, "einsum.expression", "column"},
      {{"b s, s -> b", {{2, 3}, {4}}}, "einsum.expression", "axis 's' has size 4"},
      {{"b s, s -> b", {{2, 3}}}, "einsum.operands", "has 2, and 1 are given"},
      {{"b s, s -> b", {{2, 3}, {3, 3}}}, "einsum.operands[1]", "1 axes"},
      {{"b s, s -> b", {{2, 3}, {0}}}, "einsum.operands[1].shape[0]", "at least 1"},
      {{"b s, s -> b", {{2, 3}, {-3}}}, "einsum.operands[1].shape[0]", "at least 1"},
      {{"a, b -> a b", {{large}, {large}}}, "einsum.result", "9.2e18"},
      {{"", {}}, "einsum.operands", ""},
      {{"a ->", std::vector<Shape>(65, Shape{1})}, "einsum.operands", "at most 64"},
      {{"a, b, a, b ->", {{large}, {large}, {large}, {large}}, {}, true},
       "einsum.operands",
       "9.2e18"},
  };
  for (const Case& c : cases) {
    const auto analysis = AnalyzeOperation({c.op, kTypes}, "einsum");
    ASSERT_FALSE(analysis.ok()) << c.op.expression;
    const auto violations = FieldViolationsOf(analysis.status());
    ASSERT_EQ(violations.size(), 1u) << c.op.expression;
    EXPECT_EQ(violations[0].field, c.field);
    EXPECT_THAT(violations[0].description, HasSubstr(c.what));
  }
}

// Left to right it would not fit; the best order does, and so do the gradients.
TEST(Einsum, FindsAnOrderWhereLeftToRightHasTooLargeAnIntermediate) {
  const int64_t large = kMaxDimension;
  const Einsum op = {.expression = "a, b, a, b ->",
                     .operands = {{large}, {large}, {large}, {large}}};
  const auto analysis = AnalyzeOperation({op, kTypes}, "");
  ASSERT_THAT(analysis, IsOk());
  const auto size = static_cast<double>(large);
  EXPECT_EQ(analysis->forward.sum.flops(), Flops(2 * size + 2 * size + 1));
}

}  // namespace
}  // namespace sextant
