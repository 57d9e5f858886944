#include "engine/tensor/expression/axis_transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

StridedTensor Fp32(Shape shape) { return ContiguousTensor(std::move(shape), DataType::kFp32); }

TEST(Rearrange, SplittingAndReorderingAreViews) {
  const auto heads = Rearrange(Fp32({2, 3, 8}), "b s (h d) -> b h s d", {{"h", 4}});
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
  EXPECT_THAT(Rearrange(Fp32({2, 1, 3}), "a 1 c -> 1 c () a", {})->tensor.shape,
              ElementsAre(1, 3, 1, 2));
  EXPECT_THAT(Rearrange(Fp32({2, 6}), "a (1 b c) -> (a 1) b c", {{"c", 2}})->tensor.shape,
              ElementsAre(2, 3, 2));
}

TEST(Rearrange, AnEllipsisStandsForAnyAxesEvenMerged) {
  EXPECT_THAT(Rearrange(Fp32({2, 3, 4, 5}), "a ... d -> d (a ...)", {})->tensor.shape,
              ElementsAre(5, 24));
  EXPECT_THAT(Rearrange(Fp32({2}), "a ... -> ... a", {})->tensor.shape, ElementsAre(2));
}

TEST(Repeat, NewAxesAreViewsUntilTheyAreMergedUnevenly) {
  const auto repeated = Repeat(Fp32({2, 3}), "h w -> h w c", {{"c", 4}});
  ASSERT_THAT(repeated, IsOk());
  EXPECT_TRUE(repeated->is_view);
  EXPECT_THAT(repeated->tensor.strides, ElementsAre(3, 1, 0));
  const auto tiled = Repeat(Fp32({2, 3}), "h w -> (2 h) w", {});
  ASSERT_THAT(tiled, IsOk());
  EXPECT_FALSE(tiled->is_view);
  EXPECT_THAT(tiled->tensor.shape, ElementsAre(4, 3));
  EXPECT_EQ(tiled->allocated_elements, 12);
}

TEST(Reduce, TakesAwayNamedUnnamedAndEllipsisAxes) {
  const auto pooled = Reduce(Fp32({4, 6}), "(h 2) (w 3) -> h w", {}, ReductionKind::kMax);
  ASSERT_THAT(pooled, IsOk());
  EXPECT_THAT(pooled->tensor.shape, ElementsAre(2, 2));
  EXPECT_EQ(pooled->flops, Flops(24));
  EXPECT_THAT(pooled->reduced_axes, ElementsAre("2", "3"));
  const auto all = Reduce(Fp32({2, 3, 4}), "b ... -> b", {}, ReductionKind::kMean);
  ASSERT_THAT(all, IsOk());
  EXPECT_EQ(all->flops, Flops(24 + 2));  // additions and divisions
  EXPECT_EQ(all->read_elements, 24);
  EXPECT_EQ(all->written_elements, 2);
  EXPECT_TRUE(Reduce(Fp32({2, 3}), "a b -> ", {}, ReductionKind::kSum)->tensor.shape.empty());
}

struct Refused {
  const char* name;
  AxisTransformKind kind;
  const char* expression;
  std::vector<AxisSize> sizes;
  const char* field;
  const char* says;
};

absl::Status StatusOf(const Refused& refused) {
  const StridedTensor tensor = Fp32({4, 64});
  switch (refused.kind) {
    case AxisTransformKind::kRearrange:
      return Rearrange(tensor, refused.expression, refused.sizes).status();
    case AxisTransformKind::kRepeat:
      return Repeat(tensor, refused.expression, refused.sizes).status();
    case AxisTransformKind::kReduce:
      return Reduce(tensor, refused.expression, refused.sizes, ReductionKind::kSum).status();
  }
  return absl::OkStatus();
}

class AxisTransformErrors : public ::testing::TestWithParam<Refused> {};

TEST_P(AxisTransformErrors, NameTheirPlace) {
  const absl::Status status = StatusOf(GetParam());
  ASSERT_THAT(status, NamesFields(ElementsAre(GetParam().field)));
  EXPECT_THAT(FieldViolationsOf(status)[0].description, StartsWith(GetParam().says));
}

constexpr AxisTransformKind kRearrange = AxisTransformKind::kRearrange;
constexpr AxisTransformKind kReduce = AxisTransformKind::kReduce;
constexpr AxisTransformKind kRepeat = AxisTransformKind::kRepeat;
const char kExpression[] = "expression";

INSTANTIATE_TEST_SUITE_P(
    Table, AxisTransformErrors,
    ::testing::Values(
        Refused{"Twice",
                kRearrange,
                "b (h h) -> b h",
                {},
                kExpression,
                "column 6: axis 'h' appears twice"},
        Refused{"OnlyLeft",
                kRearrange,
                "b c -> b",
                {},
                kExpression,
                "column 3: axis 'c' is on the left alone"},
        Refused{"OnlyRight",
                kRearrange,
                "b c -> b c d",
                {},
                kExpression,
                "column 12: axis 'd' is on the right alone"},
        Refused{"ReduceAddsNothing",
                kReduce,
                "b c -> b d",
                {},
                kExpression,
                "column 10: axis 'd' is on the right alone"},
        Refused{"RepeatTakesNothingAway",
                kRepeat,
                "b c -> b",
                {},
                kExpression,
                "column 3: axis 'c' is on the left alone"},
        Refused{"BothSizesMissing",
                kRearrange,
                "b (h d) -> b h d",
                {},
                kExpression,
                "column 6: the sizes of 'h' and 'd' are both missing"},
        Refused{"Indivisible",
                kRearrange,
                "b (h d) -> b h d",
                {{"h", 7}},
                kExpression,
                "column 3: the axis has size 64, which is not divisible by the product of the "
                "other sizes, 7"},
        Refused{"ProductDiffers",
                kRearrange,
                "b (h d) -> b h d",
                {{"h", 8}, {"d", 9}},
                kExpression,
                "column 3: the axis has size 64, which is not the product of the given sizes, 72"},
        Refused{"ProductOverflows",
                kRearrange,
                "b (h d e) -> b h d e",
                {{"h", kMaxDimension}, {"d", kMaxDimension}},
                kExpression,
                "column 3: the axis has size 64, which is not divisible"},
        Refused{"SizeDiffers",
                kRearrange,
                "b c -> c b",
                {{"b", 5}},
                kExpression,
                "column 1: the axis has size 4, which is not the product of the given sizes, 5"},
        Refused{"SizeOfNoAxis",
                kRearrange,
                "b c -> c b",
                {{"h", 5}},
                "sizes[0].name",
                "'h' is not an axis"},
        Refused{"SizeGivenTwice",
                kRearrange,
                "b c -> c b",
                {{"b", 4}, {"b", 4}},
                "sizes[1].name",
                "is given twice"},
        Refused{"SizeZero", kRearrange, "b c -> c b", {{"b", 0}}, "sizes[0].size", "must be 1 to"},
        Refused{
            "SizeNegative", kRepeat, "b c -> c b k", {{"k", -1}}, "sizes[0].size", "must be 1 to"},
        Refused{"NewAxisWithoutSize",
                kRepeat,
                "b c -> b c k",
                {},
                kExpression,
                "column 12: axis 'k' is new: give its size"},
        Refused{"TooManyAxes",
                kRearrange,
                "b c d -> d c b",
                {},
                "tensor",
                "the expression has 3 axes, the tensor has 2"},
        Refused{"TooManyAxesForAnEllipsis",
                kRearrange,
                "b c d ... -> ... d c b",
                {},
                "tensor",
                "the expression has at least 3 axes"},
        Refused{"NumberLeft",
                kRearrange,
                "4 c -> c",
                {},
                kExpression,
                "column 1: an axis of 4 without a name: only reduce"},
        Refused{"NumberRight",
                kReduce,
                "b c -> b 4",
                {},
                kExpression,
                "column 10: an axis of 4 without a name: only repeat"},
        Refused{
            "OtherNumber", kReduce, "b 32 -> b", {}, kExpression, "column 3: the axis has size 64"},
        Refused{"EllipsisRightAlone",
                kRepeat,
                "b c -> ... b c",
                {},
                kExpression,
                "column 8: '...' is on the right alone"},
        Refused{"EllipsisInParentheses",
                kReduce,
                "(b ...) c -> c",
                {},
                kExpression,
                "column 4: '...' in parentheses"},
        Refused{"EllipsisLost",
                kRearrange,
                "b c ... -> b c",
                {},
                kExpression,
                "column 5: axis '...' is on the left alone"},
        Refused{"NotClosed",
                kRearrange,
                "b (h d -> b h d",
                {},
                kExpression,
                "column 3: the parenthesis is not closed"},
        Refused{"NotOpen", kRearrange, "b c) -> b c", {}, kExpression, "column 4: ')' where"},
        Refused{"Nested",
                kRearrange,
                "b (h (d)) -> b h d",
                {},
                kExpression,
                "column 6: a parenthesis within another"},
        Refused{"NoArrow", kRearrange, "b c", {}, kExpression, "column 4: '->' belongs here"},
        Refused{"TwoArrows", kRearrange, "b c -> c b -> b", {}, kExpression, "column 12: '->'"},
        Refused{"TwoTensors", kRearrange, "b c, d -> b", {}, kExpression, "column 4: '->'"},
        Refused{"AxisTooLarge",
                kRepeat,
                "b c -> (b k) c",
                {{"k", kMaxDimension}},
                kExpression,
                "column 8: the axis would have more than"},
        Refused{"ResultTooLarge",
                kRepeat,
                "b c -> b c k 4194304",
                {{"k", kMaxDimension}},
                "result",
                "[4, 64, 1099511627776, 4194304] has more than 9.2e18"}),
    [](const auto& one) { return one.param.name; });

TEST(RepeatLimits, EllipsesDoNotHideTooManyAxes) {
  std::string many = "... -> ...";
  for (int i = 0; i < 31; ++i) absl::StrAppend(&many, " 1");
  EXPECT_THAT(Repeat(Fp32({2, 3}), many, {}), NamesFields(ElementsAre("result")));
}

}  // namespace
}  // namespace sextant
