// Random einsum expressions against loops over every index.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "engine/tensor/expression/einsum.h"
#include "tests/engine/tensor/expression/naive_contraction.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using Names = std::vector<std::string>;

// An expression, its operands' shapes, and the same as named tensors full of numbers.
struct Question {
  std::string expression;
  std::vector<Shape> shapes;
  std::vector<NamedTensor> tensors;
  Names output;
  AxisSizes sizes;  // an axis that "..." stands for is "...0", "...1"
};

class RandomQuestions {
 public:
  explicit RandomQuestions(uint32_t seed) : random_(seed) {}

  // `letters`: in NumPy's style, with diagonals and without outputs; else in einops'.
  Question Next(size_t operand_count, bool letters) {
    Question q;
    letters_ = letters;
    for (const std::string& name : Alphabet()) q.sizes[name] = 1 + Below(3);
    has_ellipsis_ = Below(3) == 0;
    ellipsis_axes_ = has_ellipsis_ ? Below(3) : 0;
    for (int64_t i = 0; i < ellipsis_axes_; ++i) q.sizes[absl::StrCat("...", i)] = 1 + Below(3);
    // One operand shows the sizes that the others stretch to.
    const size_t whole = static_cast<size_t>(Below(static_cast<int64_t>(operand_count)));
    Names texts;
    for (size_t i = 0; i < operand_count; ++i) texts.push_back(AddOperand(i == whole, q));
    q.expression = absl::StrCat(absl::StrJoin(texts, letters ? "," : ", "), AddOutput(texts, q));
    for (NamedTensor& tensor : q.tensors) Fill(q.sizes, tensor);
    return q;
  }

 private:
  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  Names Alphabet() const {
    return letters_ ? Names{"a", "b", "c", "d", "E"} : Names{"b", "seq1", "seq_2", "hidden", "E"};
  }

  std::string AddOperand(bool whole, Question& q) {
    Names names = Alphabet();
    std::shuffle(names.begin(), names.end(), random_);
    names.resize(static_cast<size_t>(Below(4)));
    if (letters_ && !names.empty() && Below(4) == 0) names.push_back(names[0]);  // a diagonal
    if (has_ellipsis_ && (whole || Below(3) != 0)) {
      names.insert(names.begin() + Below(static_cast<int64_t>(names.size()) + 1), "...");
    }
    Shape shape;
    std::set<std::string> axes;
    for (const std::string& name : names) {
      if (name != "...") {
        axes.insert(name);
        shape.push_back(q.sizes[name]);
        continue;
      }
      // It may stand for fewer axes than elsewhere, aligned at the last, and for ones.
      for (int64_t i = whole ? 0 : Below(ellipsis_axes_ + 1); i < ellipsis_axes_; ++i) {
        const std::string axis = absl::StrCat("...", i);
        shape.push_back(!whole && Below(3) == 0 ? 1 : q.sizes[axis]);
        if (shape.back() == q.sizes[axis]) axes.insert(axis);
      }
    }
    q.shapes.push_back(shape);
    q.tensors.push_back({{axes.begin(), axes.end()}, {}});
    return absl::StrJoin(names, letters_ ? "" : " ");
  }

  std::string AddOutput(const Names& operands, Question& q) {
    for (int64_t i = 0; i < ellipsis_axes_; ++i) q.output.push_back(absl::StrCat("...", i));
    if (letters_ && Below(3) == 0) {
      const std::string all = absl::StrJoin(operands, "");
      for (const char* letter : {"E", "a", "b", "c", "d"}) {
        if (std::count(all.begin(), all.end(), *letter) == 1) q.output.push_back(letter);
      }
      return "";
    }
    Names words;
    for (const std::string& name : Alphabet()) {
      const bool present = std::any_of(q.tensors.begin(), q.tensors.end(), [&](const auto& t) {
        return std::count(t.axes.begin(), t.axes.end(), name) > 0;
      });
      if (present && Below(2) == 0) words.push_back(name);
    }
    std::shuffle(words.begin(), words.end(), random_);
    q.output.insert(q.output.end(), words.begin(), words.end());
    if (has_ellipsis_) words.insert(words.begin(), "...");
    return absl::StrCat(letters_ ? "->" : " -> ", absl::StrJoin(words, letters_ ? "" : " "));
  }

  void Fill(const AxisSizes& sizes, NamedTensor& tensor) {
    std::vector<std::vector<int64_t>> indices = {{}};
    for (const std::string& axis : tensor.axes) {
      std::vector<std::vector<int64_t>> longer;
      for (const auto& index : indices) {
        for (int64_t i = 0; i < sizes.at(axis); ++i) {
          longer.push_back(index);
          longer.back().push_back(i);
        }
      }
      indices = longer;
    }
    for (const auto& index : indices) tensor.at[index] = Below(19) - 9;
  }

  std::mt19937 random_;
  bool letters_ = false;
  bool has_ellipsis_ = false;
  int64_t ellipsis_axes_ = 0;
};

// Takes the order's steps one by one in loops that count.
void ExpectOrderIsRight(const Question& q, const ContractionOrder& order,
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

void ExpectAnswered(const Question& q, bool letters) {
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
  ExpectOrderIsRight(q, cost->left_to_right, all.result);
  ExpectOrderIsRight(q, cost->best, all.result);
  EXPECT_LE(cost->best.flops, cost->left_to_right.flops);
  if (q.tensors.size() > 2) return;
  EXPECT_EQ(cost->left_to_right.flops.value(),
            static_cast<double>(all.multiplications + all.additions));
}

TEST(EinsumOracle, ShapesAndFlopsAreThoseOfLoopsOverEveryIndex) {
  RandomQuestions random(42);
  for (int i = 0; i < 800; ++i) {
    const bool letters = i % 2 == 0;
    ExpectAnswered(random.Next(1 + static_cast<size_t>(i) % 4, letters), letters);
    if (::testing::Test::HasFailure()) return;
  }
}

// Beyond the exact search, where orders are found greedily.
TEST(EinsumOracle, ManyOperandsAreContractedRightly) {
  RandomQuestions random(43);
  for (int i = 0; i < 30; ++i) {
    ExpectAnswered(random.Next(11 + static_cast<size_t>(i) % 3, i % 2 == 0), i % 2 == 0);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace sextant
