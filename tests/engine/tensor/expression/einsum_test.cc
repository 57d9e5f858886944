#include "engine/tensor/expression/einsum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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

struct RefusedEinsum {
  const char* name;
  const char* expression;
  std::vector<Shape> shapes;
  const char* field;
  const char* says;
};

class EinsumErrors : public ::testing::TestWithParam<RefusedEinsum> {};

TEST_P(EinsumErrors, NameTheirPlace) {
  const auto cost = EinsumCostOf(GetParam().expression, GetParam().shapes);
  ASSERT_THAT(cost, NamesFields(ElementsAre(GetParam().field)));
  EXPECT_THAT(FieldViolationsOf(cost.status())[0].description, StartsWith(GetParam().says));
}

const std::vector<Shape> kOne = {{2, 3}};
const std::vector<Shape> kTwo = {{2, 3}, {3, 4}};
const char kEinsumExpression[] = "expression";

INSTANTIATE_TEST_SUITE_P(
    Table, EinsumErrors,
    ::testing::Values(
        RefusedEinsum{"TwiceInAnOperand", "a b a, b c -> a c", kTwo, kEinsumExpression,
                      "column 5: axis 'a' appears twice"},
        RefusedEinsum{"TwiceInTheOutput", "ij,jk->ii", kTwo, kEinsumExpression,
                      "column 9: axis 'i' appears twice"},
        RefusedEinsum{"UnknownInTheOutput", "a b, b c -> a z", kTwo, kEinsumExpression,
                      "column 15: axis 'z' is in no operand"},
        RefusedEinsum{"SizesDiffer", "ij,ik->jk", kTwo, kEinsumExpression,
                      "column 4: axis 'i' has size 3 in operand 2, and 2 before"},
        RefusedEinsum{"DiagonalOfARectangle", "ii->i", kOne, kEinsumExpression,
                      "column 2: axis 'i' has size 3 in operand 1, and 2 before"},
        RefusedEinsum{"NoOutputByName", "a b, b c", kTwo, kEinsumExpression, "column 9: '->'"},
        RefusedEinsum{"TwoOutputs", "ij,jk->i,k", kTwo, kEinsumExpression,
                      "column 9: ',' after the output"},
        RefusedEinsum{"TwoArrows", "ij->i->j", kOne, kEinsumExpression,
                      "column 6: '->' after the output"},
        RefusedEinsum{"Composite", "(a b) c, c d -> a", kTwo, kEinsumExpression,
                      "column 1: einsum takes no parentheses"},
        RefusedEinsum{"UnknownSign", "a b, b c = a c", kTwo, kEinsumExpression,
                      "column 10: '=' has no"},
        RefusedEinsum{"NotText", "a b\xc3\xa9", kOne, kEinsumExpression,
                      "column 4: '\\xc3' has no"},
        RefusedEinsum{"OneDot", "a . b", kOne, kEinsumExpression, "column 3: '.' has no"},
        RefusedEinsum{"SizeZero", "a 0 -> a", kOne, kEinsumExpression,
                      "column 3: '0' is not a size"},
        RefusedEinsum{"SizeTooLarge", "a 99999999999999999999 -> a", kOne, kEinsumExpression,
                      "column 3: '999"},
        RefusedEinsum{"OtherSize", "a 4 -> a", kOne, kEinsumExpression,
                      "column 3: the axis has size 3"},
        RefusedEinsum{"NumberInTheOutput", "a b -> a 7", kOne, kEinsumExpression,
                      "column 10: the output can't have an unnamed axis of 7"},
        RefusedEinsum{"NameOfDigits", "a 2b -> a", kOne, kEinsumExpression,
                      "column 3: '2b' begins"},
        RefusedEinsum{"EllipsisTwice", "...i...->i", kOne, kEinsumExpression,
                      "column 5: '...' appears twice"},
        RefusedEinsum{"EllipsisFromNowhere", "ij->...i", kOne, kEinsumExpression,
                      "column 5: '...' is in no"},
        RefusedEinsum{"EllipsisSummedUnsaid", "...j->j", kOne, kEinsumExpression,
                      "column 7: the output lacks"},
        RefusedEinsum{"TooFewAxes", "i j k -> i", kOne, "operands[0]",
                      "the expression has 3 axes in column 1, the tensor has 2"},
        RefusedEinsum{"AWordInLetters", "seq->", kOne, "operands[0]",
                      "the expression has 3 axes in column 1, the tensor has 2 (without blanks"},
        RefusedEinsum{"TooFewAxesForAnEllipsis", "...ijk->...i", kOne, "operands[0]",
                      "the expression has at least 3 axes"},
        RefusedEinsum{"EllipsesDoNotBroadcast",
                      "...j,...j->...",
                      {{2, 3}, {4, 3}},
                      "operands[1]",
                      "[4] does not broadcast with [2]"},
        RefusedEinsum{"FewerOperands", "ij,jk", kOne, "operands", "the expression has 2, and 1"},
        RefusedEinsum{
            "NegativeSize", "ij", {{2, -3}}, "operands[0].shape[1]", "must be at least 1, not -3"},
        RefusedEinsum{
            "ZeroSize", "ij", {{0, 3}}, "operands[0].shape[0]", "must be at least 1, not 0"},
        RefusedEinsum{"ResultTooLarge",
                      "i,j->ij",
                      {{kMaxDimension}, {kMaxDimension}},
                      "result",
                      "[1099511627776, 1099511627776] has more than 9.2e18"}),
    [](const auto& one) { return one.param.name; });

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

}  // namespace
}  // namespace sextant
