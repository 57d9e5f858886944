#include "engine/tensor/expression/axis_transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/engine/tensor/naive_array.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;

StridedTensor FloatsOf(Shape shape) { return ContiguousTensor(std::move(shape), DataType::kFp32); }

TEST(Rearrange, SplittingAndReorderingAreViews) {
  const auto heads = Rearrange(FloatsOf({2, 3, 8}), "b s (h d) -> b h s d", {{"h", 4}});
  ASSERT_THAT(heads, IsOk());
  EXPECT_TRUE(heads->is_view);
  EXPECT_THAT(heads->tensor.shape, ElementsAre(2, 4, 3, 2));
  EXPECT_THAT(heads->tensor.strides, ElementsAre(24, 2, 8, 1));
  EXPECT_THAT(heads->axes,
              ElementsAre(AxisSize{"b", 2}, AxisSize{"s", 3}, AxisSize{"h", 4}, AxisSize{"d", 2}));
  // Back again: heads and head size lie apart by now.
  const auto merged = Rearrange(heads->tensor, "b h s d -> b (h s) d", {});
  ASSERT_THAT(merged, IsOk());
  EXPECT_FALSE(merged->is_view);
  EXPECT_EQ(merged->allocated_elements, 48);
  EXPECT_TRUE(Rearrange(heads->tensor, "b h s d -> b s (h d)", {})->is_view);
}

TEST(Rearrange, UnitAxesComeAndGo) {
  EXPECT_THAT(Rearrange(FloatsOf({2, 1, 3}), "a 1 c -> 1 c () a", {})->tensor.shape,
              ElementsAre(1, 3, 1, 2));
  EXPECT_THAT(Rearrange(FloatsOf({2, 6}), "a (1 b c) -> (a 1) b c", {{"c", 2}})->tensor.shape,
              ElementsAre(2, 3, 2));
}

TEST(Rearrange, AnEllipsisStandsForAnyAxesEvenMerged) {
  EXPECT_THAT(Rearrange(FloatsOf({2, 3, 4, 5}), "a ... d -> d (a ...)", {})->tensor.shape,
              ElementsAre(5, 24));
  EXPECT_THAT(Rearrange(FloatsOf({2}), "a ... -> ... a", {})->tensor.shape, ElementsAre(2));
}

TEST(Repeat, NewAxesAreViewsUntilTheyAreMergedUnevenly) {
  const auto repeated = Repeat(FloatsOf({2, 3}), "h w -> h w c", {{"c", 4}});
  ASSERT_THAT(repeated, IsOk());
  EXPECT_TRUE(repeated->is_view);
  EXPECT_THAT(repeated->tensor.strides, ElementsAre(3, 1, 0));
  const auto tiled = Repeat(FloatsOf({2, 3}), "h w -> (2 h) w", {});
  ASSERT_THAT(tiled, IsOk());
  EXPECT_FALSE(tiled->is_view);
  EXPECT_THAT(tiled->tensor.shape, ElementsAre(4, 3));
  EXPECT_EQ(tiled->allocated_elements, 12);
}

TEST(Reduce, TakesAwayNamedUnnamedAndEllipsisAxes) {
  const auto pooled = Reduce(FloatsOf({4, 6}), "(h 2) (w 3) -> h w", {}, ReductionKind::kMax);
  ASSERT_THAT(pooled, IsOk());
  EXPECT_THAT(pooled->tensor.shape, ElementsAre(2, 2));
  EXPECT_EQ(pooled->flops, Flops(24));
  EXPECT_THAT(pooled->reduced_axes, ElementsAre("2", "3"));
  const auto all = Reduce(FloatsOf({2, 3, 4}), "b ... -> b", {}, ReductionKind::kMean);
  ASSERT_THAT(all, IsOk());
  EXPECT_EQ(all->flops, Flops(24 + 2));  // additions and divisions
  EXPECT_EQ(all->read_elements, 24);
  EXPECT_EQ(all->written_elements, 2);
  EXPECT_TRUE(Reduce(FloatsOf({2, 3}), "a b -> ", {}, ReductionKind::kSum)->tensor.shape.empty());
}

TEST(RepeatLimits, EllipsesDoNotHideTooManyAxes) {
  std::string many = "... -> ...";
  for (int i = 0; i < 31; ++i) absl::StrAppend(&many, " 1");
  EXPECT_THAT(Repeat(FloatsOf({2, 3}), many, {}), NamesFields(ElementsAre("result")));
}

using Names = std::vector<std::string>;
// The axes of one side of an expression, as names in parentheses or alone.
using Side = std::vector<Names>;

struct Question {
  std::string expression;
  std::vector<AxisSize> given;
  std::map<std::string, int64_t> sizes;
  Side left;
  Side right;
};

std::string SideText(const Side& side) {
  Names words;
  for (const Names& group : side) {
    words.push_back(group.size() == 1 ? group[0]
                                      : absl::StrCat("(", absl::StrJoin(group, " "), ")"));
  }
  return absl::StrJoin(words, " ");
}

Names NamesOf(const Side& side) {
  Names names;
  for (const Names& group : side) names.insert(names.end(), group.begin(), group.end());
  return names;
}

Index ShapeOf(const Side& side, const std::map<std::string, int64_t>& sizes) {
  Index shape;
  for (const Names& group : side) {
    shape.push_back(1);
    for (const std::string& name : group) shape.back() *= sizes.at(name);
  }
  return shape;
}

// The single axes' indices that make up `index` on `side`, the last one of a group running
// fastest.
std::map<std::string, int64_t> TakenApart(const Index& index, const Side& side,
                                          const std::map<std::string, int64_t>& sizes) {
  std::map<std::string, int64_t> out;
  for (size_t i = 0; i < side.size(); ++i) {
    int64_t rest = index[i];
    for (size_t k = side[i].size(); k-- > 0;) {
      out[side[i][k]] = rest % sizes.at(side[i][k]);
      rest /= sizes.at(side[i][k]);
    }
  }
  return out;
}

Index PutTogether(const std::map<std::string, int64_t>& at, const Side& side,
                  const std::map<std::string, int64_t>& sizes) {
  Index index;
  for (const Names& group : side) {
    index.push_back(0);
    for (const std::string& name : group)
      index.back() = index.back() * sizes.at(name) + at.at(name);
  }
  return index;
}

class RandomQuestions {
 public:
  explicit RandomQuestions(uint32_t seed) : random_(seed) {}

  Question Next(AxisTransformKind kind) {
    Question q;
    for (const char* name : {"a", "b", "heads", "d_4", "E"}) q.sizes[name] = 1 + Below(3);
    Names shared;
    Names extra;
    for (const auto& [name, size] : q.sizes) {
      const int64_t where = Below(4);
      if (where == 0 && kind != AxisTransformKind::kRearrange) extra.push_back(name);
      if (where > 0) shared.push_back(name);
    }
    Names left = shared;
    Names right = shared;
    Names& more = kind == AxisTransformKind::kReduce ? left : right;
    more.insert(more.end(), extra.begin(), extra.end());
    q.left = Grouped(left);
    q.right = Grouped(right);
    q.expression = absl::StrCat(SideText(q.left), " -> ", SideText(q.right));
    // All sizes but one of each group on the left, and those that only the right has.
    for (const Names& group : q.left) {
      for (size_t i = 1; i < group.size(); ++i) q.given.push_back({group[i], q.sizes[group[i]]});
    }
    if (kind == AxisTransformKind::kRepeat) {
      for (const std::string& name : extra) q.given.push_back({name, q.sizes[name]});
    }
    return q;
  }

  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  // A tensor of `shape` whose axes lie in memory in any order, perhaps with gaps.
  StridedTensor TensorOf(const Index& shape, bool contiguous) {
    if (contiguous) return ContiguousTensor(Shape(shape.begin(), shape.end()), DataType::kFp32);
    StridedTensor tensor = {.shape = Shape(shape.begin(), shape.end()), .offset = Below(3)};
    tensor.strides.resize(shape.size());
    std::vector<size_t> order(shape.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), random_);
    int64_t stride = 1 + Below(2);
    for (const size_t axis : order) {
      tensor.strides[axis] = stride;
      stride *= shape[axis] + Below(2);
    }
    tensor.storage_elements = tensor.offset + stride;
    return tensor;
  }

 private:
  // In any order, some side by side in parentheses.
  Side Grouped(Names names) {
    std::shuffle(names.begin(), names.end(), random_);
    Side side;
    for (const std::string& name : names) {
      if (!side.empty() && Below(3) == 0) {
        side.back().push_back(name);
      } else {
        side.push_back({name});
      }
    }
    return side;
  }

  std::mt19937 random_;
};

// Checks that `result` views, or holds, the elements of `expected`, storage positions of `tensor`.
void ExpectShows(const AxisTransform& result, const NaiveArray& expected,
                 const StridedTensor& tensor) {
  EXPECT_EQ(Index(result.tensor.shape.begin(), result.tensor.shape.end()), expected.shape);
  EXPECT_EQ(result.is_view, StridesExist(expected));
  const auto count = static_cast<int64_t>(expected.at.size());
  if (result.is_view) {
    EXPECT_EQ(PositionsOf(result.tensor).at, expected.at);
    EXPECT_EQ(result.allocated_elements + result.read_elements + result.written_elements, 0);
  } else {
    EXPECT_EQ(result.allocated_elements, count);
    EXPECT_EQ(result.written_elements, count);
    EXPECT_EQ(result.read_elements, tensor.element_count());
    EXPECT_TRUE(IsContiguous(result.tensor));
  }
  EXPECT_EQ(result.flops, Flops(0));
}

void ExpectArranged(AxisTransformKind kind, uint32_t seed) {
  RandomQuestions random(seed);
  int views = 0;
  int copies = 0;
  for (int i = 0; i < 1500; ++i) {
    const Question q = random.Next(kind);
    SCOPED_TRACE(q.expression);
    const StridedTensor tensor = random.TensorOf(ShapeOf(q.left, q.sizes), i % 2 == 0);
    const auto result = kind == AxisTransformKind::kRepeat
                            ? Repeat(tensor, q.expression, q.given)
                            : Rearrange(tensor, q.expression, q.given);
    ASSERT_THAT(result, IsOk());
    const NaiveArray expected =
        PositionsOf(tensor).Gather(ShapeOf(q.right, q.sizes), [&](const Index& index) {
          return PutTogether(TakenApart(index, q.right, q.sizes), q.left, q.sizes);
        });
    ExpectShows(*result, expected, tensor);
    for (const AxisSize& axis : result->axes) EXPECT_EQ(axis.size, q.sizes.at(axis.name));
    ++(result->is_view ? views : copies);
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(views, 200);
  EXPECT_GT(copies, 200);
}

TEST(AxisTransformOracle, RearrangeMovesEveryElementToItsPlace) {
  ExpectArranged(AxisTransformKind::kRearrange, 1);
}

TEST(AxisTransformOracle, RepeatShowsEveryElementInItsPlaces) {
  ExpectArranged(AxisTransformKind::kRepeat, 2);
}

TEST(AxisTransformOracle, ReduceReadsEveryElementOnce) {
  RandomQuestions random(3);
  int reductions = 0;
  for (int i = 0; i < 800; ++i) {
    const Question q = random.Next(AxisTransformKind::kReduce);
    SCOPED_TRACE(q.expression);
    const StridedTensor tensor = random.TensorOf(ShapeOf(q.left, q.sizes), true);
    const auto result = Reduce(tensor, q.expression, q.given, ReductionKind::kMean);
    ASSERT_THAT(result, IsOk());
    int64_t operations = 0;
    std::map<Index, int64_t> sums;
    for (const auto& [index, position] : PositionsOf(tensor).at) {
      sums[PutTogether(TakenApart(index, q.left, q.sizes), q.right, q.sizes)] += position;
      ++operations;
    }
    const Index shape = ShapeOf(q.right, q.sizes);
    EXPECT_EQ(Index(result->tensor.shape.begin(), result->tensor.shape.end()), shape);
    Names reduced = NamesOf(q.left);
    for (const std::string& kept : NamesOf(q.right)) {
      reduced.erase(std::find(reduced.begin(), reduced.end(), kept));
    }
    EXPECT_EQ(result->reduced_axes, reduced);
    if (reduced.empty()) {
      EXPECT_EQ(result->flops, Flops(0));
      continue;
    }
    ++reductions;
    operations += static_cast<int64_t>(sums.size());  // the divisions
    EXPECT_EQ(result->flops, Flops(static_cast<double>(operations)));
    EXPECT_EQ(result->written_elements, static_cast<int64_t>(sums.size()));
    EXPECT_EQ(result->allocated_elements, static_cast<int64_t>(sums.size()));
  }
  EXPECT_GT(reductions, 300);
}

}  // namespace
}  // namespace sextant
