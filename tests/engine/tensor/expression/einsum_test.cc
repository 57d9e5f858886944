#include "engine/tensor/expression/einsum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/engine/tensor/expression/random_einsum.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Einsum, NamesAndLettersMeanTheSame) {
  const std::vector<Shape> shapes = {{2, 3, 4}, {2, 5, 4}};
  for (const char* text : {"b s h, b t h -> b s t", "bsh,bth->bst", "bsh,bth"}) {
    const auto cost = EinsumCostOf(text, shapes);
    ASSERT_THAT(cost, IsOk()) << text;
    EXPECT_EQ(cost->style, text[1] == ' ' ? EinsumStyle::kNamed : EinsumStyle::kLetters);
  }
  const auto cost = EinsumCostOf("b s h, b t h -> b s t", shapes);
  EXPECT_THAT(cost->shape, ElementsAre(2, 3, 5));
  EXPECT_THAT(cost->summed_axes, ElementsAre("h"));
  EXPECT_EQ(cost->best.flops, Flops(2 * 2 * 3 * 5 * 4));
  EXPECT_THAT(cost->operand_elements, ElementsAre(24, 40));
  EXPECT_EQ(cost->result_elements, 30);
}

// One multiplication an element, and nothing to add.
TEST(Einsum, ProductsWithoutASumAreOneFlopAnElement) {
  EXPECT_EQ(EinsumCostOf("i,j->ij", {Shape{3}, Shape{5}})->best.flops, Flops(15));
  EXPECT_EQ(EinsumCostOf("ij,ij->ij", {Shape{3, 5}, Shape{3, 5}})->best.flops, Flops(15));
}

TEST(Einsum, OneOperandIsSummedTransposedOrItsDiagonal) {
  EXPECT_EQ(EinsumCostOf("ij->i", {Shape{3, 5}})->best.flops, Flops(15));
  EXPECT_EQ(EinsumCostOf("ij->ji", {Shape{3, 5}})->best.flops, Flops(0));
  const auto trace = EinsumCostOf("ii", {Shape{4, 4}});
  ASSERT_THAT(trace, IsOk());
  EXPECT_TRUE(trace->shape.empty());
  EXPECT_EQ(trace->best.flops, Flops(4));
  EXPECT_THAT(trace->operand_elements, ElementsAre(4));
}

TEST(Einsum, OnlyTheAxesOfAnEllipsisBroadcast) {
  const auto cost = EinsumCostOf("...ij,...jk", {Shape{7, 1, 2, 3}, Shape{5, 3, 4}});
  ASSERT_THAT(cost, IsOk());
  EXPECT_THAT(cost->shape, ElementsAre(7, 5, 2, 4));
  EXPECT_EQ(cost->best.flops, Flops(2 * 7 * 5 * 2 * 3 * 4));
  EXPECT_THAT(EinsumCostOf("ij,ij->ij", {Shape{1, 3}, Shape{2, 3}}),
              NamesFields(ElementsAre("expression")));
}

TEST(Einsum, UnnamedAxesOfSizeOneComeAndGo) {
  const auto cost = EinsumCostOf("b 1 h, b h -> b 1", {Shape{2, 1, 4}, Shape{2, 4}});
  ASSERT_THAT(cost, IsOk());
  EXPECT_THAT(cost->shape, ElementsAre(2, 1));
  EXPECT_EQ(cost->best.flops, Flops(16));
  // Three unnamed elements are summed.
  EXPECT_EQ(EinsumCostOf("b 3 -> b", {Shape{2, 3}})->best.flops, Flops(6));
}

TEST(Einsum, ScalarsAreOperandsWithoutAxes) {
  EXPECT_THAT(EinsumCostOf(",ij->ij", {Shape{}, Shape{2, 3}})->shape, ElementsAre(2, 3));
  EXPECT_TRUE(EinsumCostOf("", {Shape{}})->shape.empty());
}

// 4 attention heads' projection, scores and values: left to right is what is written.
TEST(Einsum, ThreeOperandsHaveTwoOrders) {
  const auto cost =
      EinsumCostOf("ij,jk,kl->il", {Shape{10, 1000}, Shape{1000, 500}, Shape{500, 2}});
  ASSERT_THAT(cost, IsOk());
  EXPECT_EQ(cost->left_to_right->flops, Flops(2.0 * 10 * 1000 * 500 + 2.0 * 10 * 500 * 2));
  EXPECT_EQ(cost->best.flops, Flops(2.0 * 1000 * 500 * 2 + 2.0 * 10 * 1000 * 2));
  EXPECT_EQ(cost->best.search, OrderSearch::kExact);
}

TEST(EinsumLimits, OperandsAndAxesAreCounted) {
  const std::vector<Shape> shapes(kMaxOperands + 1, Shape{1});
  EXPECT_THAT(EinsumCostOf("i", shapes), NamesFields(ElementsAre("operands")));
  const std::string text = absl::StrJoin(std::vector<std::string>(kMaxOperands + 1, "i"), ",");
  const auto cost = EinsumCostOf(text, {Shape{1}});
  ASSERT_THAT(cost, NamesFields(ElementsAre("expression")));
  EXPECT_THAT(FieldViolationsOf(cost.status())[0].description,
              StartsWith("column 129: operand 65: at most 64"));
  EXPECT_THAT(EinsumCostOf(text.substr(2), absl::MakeConstSpan(shapes).subspan(1)), IsOk());
  EXPECT_THAT(EinsumCostOf(std::string(33, 'i'), {Shape{1}}),
              NamesFields(ElementsAre("expression")));
  EXPECT_THAT(EinsumCostOf(std::string(4097, ' '), {Shape{}}),
              NamesFields(ElementsAre("expression")));
  EXPECT_THAT(EinsumCostOf(std::string(65, 'i') + " b -> b", {Shape{1, 1}}),
              NamesFields(ElementsAre("expression")));
}

// a b c d has 2^64 elements; a b times b c first has 2^32 at most.
TEST(EinsumLimits, LeftToRightIsLeftOutWhereItIsTooLarge) {
  const Shape square = {65536, 65536};
  const auto cost = EinsumCostOf("a b, c d, b c -> a d", {square, square, square});
  ASSERT_THAT(cost, IsOk());
  EXPECT_FALSE(cost->left_to_right.has_value());
  EXPECT_EQ(cost->best.flops, Flops(2 * 2.0 * 65536 * 65536 * 65536));
  EXPECT_EQ(cost->best.largest_intermediate_elements, int64_t{1} << 32);
}

TEST(EinsumLimits, DifferentAxesAreCounted) {
  std::vector<std::string> operands;
  std::vector<Shape> shapes;
  for (int i = 0; i < 26; ++i) {
    std::vector<std::string> axes;
    for (int k = 0; k < 10; ++k) axes.push_back(absl::StrCat("a", i, "_", k));
    operands.push_back(absl::StrJoin(axes, " "));
    shapes.push_back(Shape(10, 1));
  }
  const auto cost = EinsumCostOf(absl::StrJoin(operands, ", ") + " -> ", shapes);
  ASSERT_THAT(cost, NamesFields(ElementsAre("expression")));
  EXPECT_THAT(std::string(cost.status().message()), HasSubstr("more than 256 different axes"));
}

using Names = std::vector<std::string>;

// Takes the order's steps one by one in loops that count.
void ExpectOrderIsRight(const EinsumQuestion& q, const ContractionOrder& order,
                        const NamedTensor& expected) {
  std::vector<NamedTensor> tensors = q.tensors;
  double flops = 0;
  size_t largest = 0;
  for (const ContractionStep& step : order.steps) {
    const Names output = absl::StrSplit(step.axes, ' ', absl::SkipEmpty());
    std::vector<NamedTensor> parts = {tensors[static_cast<size_t>(step.left)]};
    if (step.right >= 0) parts.push_back(tensors[static_cast<size_t>(step.right)]);
    const CountedContraction counted = ContractNaively(parts, output, q.sizes);
    const auto operations = static_cast<double>(counted.multiplications + counted.additions);
    EXPECT_EQ(step.flops.value(), operations) << step.axes;
    EXPECT_EQ(step.sums, counted.additions > 0);
    EXPECT_EQ(step.result_elements, static_cast<int64_t>(counted.result.at.size()));
    flops += operations;
    if (&step != &order.steps.back()) largest = std::max(largest, counted.result.at.size());
    tensors.push_back(counted.result);
  }
  EXPECT_EQ(order.flops.value(), flops);
  EXPECT_EQ(order.largest_intermediate_elements, static_cast<int64_t>(largest));
  EXPECT_EQ(tensors.back().at, expected.at);
}

void ExpectAnswered(const EinsumQuestion& q, bool letters) {
  SCOPED_TRACE(q.expression);
  const auto cost =
      EinsumCostOf(q.expression, q.shapes, letters ? EinsumStyle::kLetters : EinsumStyle::kNamed);
  ASSERT_THAT(cost, IsOk());
  const CountedContraction all = ContractNaively(q.tensors, q.output, q.sizes);
  Shape shape;
  for (const std::string& axis : q.output) shape.push_back(q.sizes.at(axis));
  EXPECT_EQ(cost->shape, shape);
  EXPECT_EQ(cost->result_elements, static_cast<int64_t>(all.result.at.size()));
  for (size_t i = 0; i < q.tensors.size(); ++i) {
    EXPECT_EQ(cost->operand_elements[i], static_cast<int64_t>(q.tensors[i].at.size()));
  }
  ASSERT_TRUE(cost->left_to_right.has_value());
  ExpectOrderIsRight(q, *cost->left_to_right, all.result);
  ExpectOrderIsRight(q, cost->best, all.result);
  EXPECT_LE(cost->best.flops, cost->left_to_right->flops);
  if (q.tensors.size() > 2) return;
  EXPECT_EQ(cost->left_to_right->flops.value(),
            static_cast<double>(all.multiplications + all.additions));
}

TEST(EinsumOracle, ShapesAndFlopsAreThoseOfLoopsOverEveryIndex) {
  RandomEinsums random(42);
  for (int i = 0; i < 800; ++i) {
    const bool letters = i % 2 == 0;
    ExpectAnswered(random.Next(1 + static_cast<size_t>(i) % 4, letters), letters);
    if (::testing::Test::HasFailure()) return;
  }
}

// Beyond the exact search, where orders are found greedily.
TEST(EinsumOracle, ManyOperandsAreContractedRightly) {
  RandomEinsums random(43);
  for (int i = 0; i < 30; ++i) {
    ExpectAnswered(random.Next(11 + static_cast<size_t>(i) % 3, i % 2 == 0), i % 2 == 0);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace sextant
