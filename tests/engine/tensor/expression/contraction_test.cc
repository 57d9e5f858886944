#include "engine/tensor/expression/contraction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;

AxisSet SetOf(std::initializer_list<int> axes) {
  AxisSet out;
  for (const int axis : axes) out.set(static_cast<size_t>(axis));
  return out;
}

// Fewest FLOPs over every order of pairs, tried one after the other, on sets of axes.
double FewestFlops(const std::vector<int64_t>& sizes, const std::vector<AxisSet>& tensors,
                   const AxisSet& output) {
  if (tensors.size() == 1) return 0;
  double fewest = std::numeric_limits<double>::infinity();
  for (size_t a = 0; a < tensors.size(); ++a) {
    for (size_t b = a + 1; b < tensors.size(); ++b) {
      AxisSet needed = output;
      std::vector<AxisSet> rest;
      for (size_t i = 0; i < tensors.size(); ++i) {
        if (i == a || i == b) continue;
        needed |= tensors[i];
        rest.push_back(tensors[i]);
      }
      const AxisSet all = tensors[a] | tensors[b];
      double flops = (all & ~needed).any() ? 2 : 1;
      for (size_t i = 0; i < sizes.size(); ++i) flops *= all[i] ? static_cast<double>(sizes[i]) : 1;
      rest.push_back(all & needed);
      fewest = std::min(fewest, flops + FewestFlops(sizes, rest, output));
    }
  }
  return fewest;
}

TEST(BestOrder, CostsWhatTheBestOfAllOrdersDoes) {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    Contraction contraction;
    std::vector<int64_t> sizes;
    for (int axis = 0; axis < 6; ++axis) {
      sizes.push_back(1 + static_cast<int64_t>(random() % 9));
      contraction.axes.push_back({std::string(1, static_cast<char>('a' + axis)), sizes.back()});
    }
    AxisSet present;
    for (unsigned operand = 2 + random() % 4; operand > 0; --operand) {
      contraction.operands.push_back(AxisSet(random() & 63));
      present |= contraction.operands.back();
    }
    AxisSet output;
    for (int axis = 0; axis < 6; ++axis) {
      if (!present[static_cast<size_t>(axis)] || random() % 3 != 0) continue;
      contraction.output.push_back(axis);
      output.set(static_cast<size_t>(axis));
    }
    const auto left_to_right = LeftToRight(contraction);
    ASSERT_THAT(left_to_right, IsOk());
    const ContractionOrder best = BestOrder(contraction, *left_to_right);
    EXPECT_EQ(best.search, OrderSearch::kExact);
    EXPECT_EQ(best.flops.value(), FewestFlops(sizes, contraction.operands, output));
  }
}

// A (10 x 1000) B (1000 x 2) C (2 x 500): (AB)C is 2x10x1000x2 + 2x10x2x500 = 60,000 FLOPs,
// A(BC) 2x1000x2x500 + 2x10x1000x500 = 12,000,000. Given as B C A, left to right is the dear one.
TEST(BestOrder, OfAChainOfMatricesStartsAtTheNarrowEnd) {
  const Contraction contraction = {.axes = {{"i", 10}, {"j", 1000}, {"k", 2}, {"l", 500}},
                                   .operands = {SetOf({1, 2}), SetOf({2, 3}), SetOf({0, 1})},
                                   .output = {0, 3}};
  const auto left_to_right = LeftToRight(contraction);
  ASSERT_THAT(left_to_right, IsOk());
  EXPECT_EQ(left_to_right->flops, Flops(12'000'000));
  EXPECT_EQ(left_to_right->largest_intermediate_elements, 500'000);
  const ContractionOrder best = BestOrder(contraction, *left_to_right);
  EXPECT_EQ(best.flops, Flops(60'000));
  EXPECT_EQ(best.largest_intermediate_elements, 20);
  ASSERT_EQ(best.steps.size(), 2u);
  EXPECT_EQ(best.steps[0].axes, "i k");
  EXPECT_EQ(best.steps[1].axes, "i l");
}

// A chain of 64 matrices, in turn 100 x 2 and 2 x 100. By hand: where the 100s are summed first,
// two matrices (2 x 100)(100 x 2) become a 2 x 2 for 800 FLOPs; there are 31 such pairs. Of the
// 100 x 2, the 31 2 x 2 and the 2 x 100 that are left, 30 products 2 x 2 x 2 cost 16 FLOPs each,
// the one with an end 800, and the last one 100 x 2 x 100 40,000.
TEST(BestOrder, OfManyOperandsIsFoundGreedily) {
  Contraction contraction;
  for (int i = 0; i <= 64; ++i) {
    contraction.axes.push_back({std::to_string(i), i % 2 == 0 ? 100 : 2});
    if (i > 0) contraction.operands.push_back(SetOf({i - 1, i}));
  }
  contraction.output = {0, 64};
  const auto left_to_right = LeftToRight(contraction);
  ASSERT_THAT(left_to_right, IsOk());
  const ContractionOrder best = BestOrder(contraction, *left_to_right);
  EXPECT_EQ(best.search, OrderSearch::kGreedy);
  EXPECT_EQ(best.steps.size(), 63u);
  EXPECT_EQ(best.flops, Flops(31 * 800 + 30 * 16 + 800 + 40'000));
}

TEST(LeftToRight, RefusesIntermediatesThatCannotBeCounted) {
  const int64_t huge = int64_t{1} << 40;
  const Contraction outer = {.axes = {{"a", huge}, {"b", huge}},
                             .operands = {SetOf({0}), SetOf({1}), SetOf({0, 1})},
                             .output = {}};
  EXPECT_THAT(LeftToRight(outer), NamesFields(ElementsAre("operands")));
}

}  // namespace
}  // namespace sextant
