// Random einsum expressions against loops over every index.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_split.h"
#include "engine/tensor/expression/einsum.h"
#include "tests/engine/tensor/expression/random_einsum.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

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
