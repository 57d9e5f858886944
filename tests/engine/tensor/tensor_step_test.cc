#include "engine/tensor/tensor_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "engine/tensor/strided_tensor.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::Status Checked(absl::Span<const int64_t> shape) {
  FieldViolations violations;
  CheckShape(shape, "shape", violations);
  return violations.ToStatus();
}

absl::Status Checked(const StridedTensor& tensor) {
  FieldViolations violations;
  CheckStridedTensor(tensor, "tensor", violations);
  return violations.ToStatus();
}

TEST(Shape, IsShownAndCounted) {
  EXPECT_EQ(ShapeText({2, 3, 4}), "[2, 3, 4]");
  EXPECT_EQ(ShapeText({}), "[]");
  EXPECT_EQ(ElementCount({2, 3, 4}), 24);
  EXPECT_EQ(ElementCount({}), 1);
  EXPECT_EQ(ElementCount({kMaxDimension, int64_t{1} << 22}), int64_t{1} << 62);
  EXPECT_FALSE(ElementCount({kMaxDimension, int64_t{1} << 23}).has_value());
  EXPECT_THAT(ContiguousStrides({2, 3, 4}), ElementsAre(12, 4, 1));
}

TEST(Shape, SizesAndAxesAreLimited) {
  EXPECT_THAT(Checked(absl::Span<const int64_t>({1, kMaxDimension})), IsOk());
  EXPECT_THAT(Checked(absl::Span<const int64_t>({0, 2, -1, kMaxDimension + 1})),
              NamesFields(ElementsAre("shape[0]", "shape[2]", "shape[3]")));
  EXPECT_THAT(std::string(Checked(absl::Span<const int64_t>({0})).message()),
              HasSubstr("must be at least 1, not 0"));
  EXPECT_THAT(Checked(Shape(kMaxAxes, 1)), IsOk());
  EXPECT_THAT(Checked(Shape(kMaxAxes + 1, 1)), NamesFields(ElementsAre("shape")));
  EXPECT_THAT(Checked(absl::Span<const int64_t>({kMaxDimension, kMaxDimension})),
              NamesFields(ElementsAre("shape")));
}

TEST(Shape, BroadcastsFromTheLastAxis) {
  EXPECT_THAT(*BroadcastShapes({4, 1, 3}, {5, 1}, "other"), ElementsAre(4, 5, 3));
  EXPECT_THAT(*BroadcastShapes({}, {2}, "other"), ElementsAre(2));
  EXPECT_THAT(BroadcastShapes({2, 3}, {2}, "other"), NamesFields(ElementsAre("other")));
}

TEST(StridedTensor, ContiguityIgnoresAxesOfSizeOne) {
  StridedTensor tensor = ContiguousTensor({2, 1, 3}, DataType::kFp32);
  EXPECT_TRUE(IsContiguous(tensor));
  tensor.strides[1] = 77;
  EXPECT_TRUE(IsContiguous(tensor));
  tensor.strides[0] = 4;
  EXPECT_FALSE(IsContiguous(tensor));
}

TEST(StridedTensor, FlatIndexAddsStridesAndCountsFromTheEnd) {
  const StridedTensor tensor = ContiguousTensor({4, 4}, DataType::kFp32);
  EXPECT_EQ(*FlatIndex(tensor, {1, 2}), 6);
  EXPECT_EQ(*FlatIndex(tensor, {-1, -4}), 12);
  EXPECT_EQ(*FlatIndex(ContiguousTensor({}, DataType::kFp32), {}), 0);
  EXPECT_THAT(FlatIndex(tensor, {1}), NamesFields(ElementsAre("index")));
  EXPECT_THAT(FlatIndex(tensor, {4, -5}), NamesFields(ElementsAre("index[0]", "index[1]")));
  EXPECT_THAT(FlatIndex(tensor, {0, std::numeric_limits<int64_t>::min()}),
              NamesFields(ElementsAre("index[1]")));
}

TEST(StridedTensor, ACallersTensorStaysWithinItsStorage) {
  const StridedTensor fine = {
      .shape = {2, 3}, .strides = {1, 2}, .offset = 4, .storage_elements = 10};
  EXPECT_THAT(Checked(fine), IsOk());
  StridedTensor wrong = fine;
  wrong.offset = 5;
  EXPECT_THAT(Checked(wrong), NamesFields(ElementsAre("tensor.storage_elements")));
  wrong = fine;
  wrong.strides = {1, -2};
  wrong.offset = -1;
  EXPECT_THAT(Checked(wrong),
              NamesFields(ElementsAre("tensor.strides[1]", "tensor.offset_elements")));
  wrong = fine;
  wrong.strides = {1};
  EXPECT_THAT(Checked(wrong), NamesFields(ElementsAre("tensor.strides")));
  wrong.strides = {1, std::numeric_limits<int64_t>::max()};
  EXPECT_THAT(Checked(wrong), NamesFields(ElementsAre("tensor.strides")));
}

StridedTensor Fp32(Shape shape) { return ContiguousTensor(std::move(shape), DataType::kFp32); }

StepResult Result(const StridedTensor& tensor, const TensorStep& step) {
  absl::StatusOr<StepResult> result = ApplyStep(tensor, step);
  EXPECT_THAT(result, IsOk());
  return *std::move(result);
}

TEST(TensorStep, TransposeIsAViewAndContiguousThenCopies) {
  const StepResult transposed = Result(Fp32({2, 3}), TransposeStep{1, 0});
  EXPECT_THAT(transposed.tensor.strides, ElementsAre(1, 3));
  EXPECT_EQ(transposed.allocated_elements, 0);
  EXPECT_FALSE(transposed.is_contiguous);
  const StepResult copy = Result(transposed.tensor, ContiguousStep{});
  EXPECT_FALSE(copy.is_view);
  EXPECT_EQ(copy.allocated_elements, 6);
  EXPECT_THAT(copy.tensor.strides, ElementsAre(2, 1));
  EXPECT_TRUE(Result(copy.tensor, ContiguousStep{}).is_view);
}

TEST(TensorStep, ExpandRepeatsByStrideZero) {
  const StepResult result = Result(Fp32({3, 1}), ExpandStep{{2, -1, 4}});
  EXPECT_THAT(result.tensor.shape, ElementsAre(2, 3, 4));
  EXPECT_THAT(result.tensor.strides, ElementsAre(0, 1, 0));
  EXPECT_EQ(result.tensor.storage_elements, 3);
  EXPECT_EQ(Result(result.tensor, ContiguousStep{}).allocated_elements, 24);
}

TEST(TensorStep, ConversionAllocatesInTheNewTypeUnlessItIsTheSame) {
  const StepResult result = Result(Fp32({4, 8}), CastStep{DataType::kBf16});
  EXPECT_EQ(result.allocated_elements, 32);
  EXPECT_EQ(result.tensor.data_type, DataType::kBf16);
  EXPECT_TRUE(Result(Fp32({4, 8}), CastStep{DataType::kFp32}).is_view);
}

// Strides that PyTorch gives: torch.arange(6).view(2, 3).t().exp().stride() is (1, 3).
TEST(TensorStep, PointwiseResultsKeepTheOrderInMemoryAndRowWiseOnesDoNot) {
  const StridedTensor transposed = Result(Fp32({2, 3}), TransposeStep{0, 1}).tensor;
  EXPECT_THAT(Result(transposed, ElementwiseStep{"exp"}).tensor.strides, ElementsAre(1, 3));
  EXPECT_THAT(Result(transposed, CastStep{DataType::kBf16}).tensor.strides, ElementsAre(1, 3));
  EXPECT_THAT(Result(transposed, ElementwiseStep{"triu"}).tensor.strides, ElementsAre(2, 1));
  EXPECT_THAT(Result(transposed, ElementwiseStep{"softmax"}).tensor.strides, ElementsAre(2, 1));
}

TEST(TensorStep, ResultsOfStridedAndExpandedTensorsAreDense) {
  const StridedTensor every_second = Result(Fp32({4, 6}), SliceStep{.axis = 1, .step = 2}).tensor;
  const StepResult result = Result(every_second, ElementwiseStep{"neg"});
  EXPECT_THAT(result.tensor.strides, ElementsAre(3, 1));
  EXPECT_EQ(result.allocated_elements, 12);
  const StridedTensor expanded = Result(Fp32({1, 3}), ExpandStep{{2, 3}}).tensor;
  EXPECT_THAT(Result(expanded, ElementwiseStep{"neg"}).tensor.strides, ElementsAre(3, 1));
  // Permuted and sliced: axes in the order of their strides 30 (axis 1), 10 (axis 2), 2 (axis 0).
  const StridedTensor mixed = {.shape = {2, 3, 3}, .strides = {2, 30, 10}, .storage_elements = 90};
  EXPECT_THAT(Result(mixed, ElementwiseStep{"neg"}).tensor.strides, ElementsAre(1, 6, 2));
}

TEST(TensorStep, BinaryOperationsBroadcast) {
  const StepResult result = Result(Fp32({4, 1, 3}), ElementwiseStep{"add", Shape{5, 1}});
  EXPECT_THAT(result.tensor.shape, ElementsAre(4, 5, 3));
  EXPECT_EQ(result.allocated_elements, 60);
  EXPECT_THAT(result.tensor.strides, ElementsAre(15, 3, 1));
}

TEST(TensorStep, AScalarHasNoAxesAndOneElement) {
  const StepResult scalar = Result(Fp32({3}), SelectStep{.index = -1});
  EXPECT_TRUE(scalar.tensor.shape.empty());
  EXPECT_EQ(scalar.tensor.offset, 2);
  EXPECT_TRUE(scalar.is_contiguous);
  EXPECT_THAT(Result(scalar.tensor, FlattenStep{}).tensor.shape, ElementsAre(1));
  EXPECT_THAT(Result(scalar.tensor, ViewStep{{1, -1}}).tensor.shape, ElementsAre(1, 1));
  EXPECT_THAT(ApplyStep(scalar.tensor, SelectStep{}), NamesFields(ElementsAre("axis")));
}

TEST(TensorStep, AnAxisOfAnotherSizeStaysWhenSqueezed) {
  EXPECT_THAT(Result(Fp32({2, 1, 3}), SqueezeStep{.axis = 0}).tensor.shape, ElementsAre(2, 1, 3));
  EXPECT_THAT(Result(Fp32({2, 1, 3}), SqueezeStep{.axis = -2}).tensor.shape, ElementsAre(2, 3));
}

struct Refused {
  const char* name;
  TensorStep step;
  const char* field;
  const char* says;
};

class TensorStepErrors : public ::testing::TestWithParam<Refused> {};

TEST_P(TensorStepErrors, NameTheField) {
  const StridedTensor transposed = Result(Fp32({2, 3, 4}), TransposeStep{0, 2}).tensor;
  const auto result = ApplyStep(transposed, GetParam().step);
  EXPECT_THAT(result, NamesFields(ElementsAre(GetParam().field)));
  EXPECT_THAT(std::string(result.status().message()), HasSubstr(GetParam().says));
}

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

INSTANTIATE_TEST_SUITE_P(
    Table, TensorStepErrors,
    ::testing::Values(
        Refused{"AxisTooHigh", SelectStep{.axis = 3}, "axis", "-3 to 2"},
        Refused{"AxisTooLow", SelectStep{.axis = kLowest}, "axis", "-3 to 2"},
        Refused{"IndexTooHigh", SelectStep{.axis = 1, .index = 3}, "index", "-3 to 2"},
        Refused{"SliceOfNothing", SliceStep{.axis = 1, .start = 3}, "stop", "leaves nothing"},
        Refused{"SliceBackwards", SliceStep{.axis = 1, .start = 2, .stop = kLowest}, "stop",
                "leaves nothing"},
        Refused{"StepZero", SliceStep{.axis = 1, .step = 0}, "step", "1 to"},
        Refused{"StepTooFar", SliceStep{.axis = 1, .step = kHighest}, "step", "1 to"},
        Refused{"AxisTwice", PermuteStep{{0, 1, -2}}, "axes[2]", "named before"},
        Refused{"AxisLeftOut", PermuteStep{{0, 1}}, "axes", "each of the 3"},
        Refused{"ViewOfATransposed", ViewStep{{24}}, "shape", "use reshape"},
        Refused{"ViewOfOtherCount", ViewStep{{5, 5}}, "shape", "25 elements, and the tensor 24"},
        Refused{"ViewIndivisible", ViewStep{{5, -1}}, "shape", "multiple of 5"},
        Refused{"TwoOpenSizes", ReshapeStep{{-1, -1}}, "shape", "only once"},
        Refused{"SizeZero", ReshapeStep{{0, 24}}, "shape[0]", "at least 1"},
        Refused{"ExpandOfThree", ExpandStep{{4, 5, 2}}, "shape[1]", "only axes of size 1"},
        Refused{"ExpandToFewerAxes", ExpandStep{{4, 3}}, "shape", "only adds"},
        Refused{"ExpandKeepsNoNewAxis", ExpandStep{{-1, 4, 3, 2}}, "shape[0]", "at least 1"},
        Refused{"FlattenBackwards", FlattenStep{2, 1}, "last", "before the first"},
        Refused{"CastToNothing", CastStep{}, "data_type", "is required"},
        Refused{"UnknownOperation", ElementwiseStep{"rellu"}, "name", "near names: relu"},
        Refused{"DoesNotBroadcast", ElementwiseStep{"add", Shape{3}}, "other.shape",
                "neither is 1"},
        Refused{"SecondOperandOfAUnary", ElementwiseStep{"exp", Shape{2}}, "other.shape",
                "one operand"}),
    [](const auto& one) { return one.param.name; });

TEST(TensorStepLimits, HugeTensorsOverflowNothing) {
  constexpr int64_t kHuge = kMaxDimension;
  EXPECT_THAT(ApplyStep(Fp32({1, 1}), ExpandStep{{kHuge, kHuge}}),
              NamesFields(ElementsAre("shape")));
  const StridedTensor wide = Fp32({kHuge, int64_t{1} << 22});
  EXPECT_THAT(ApplyStep(wide, FlattenStep{}), NamesFields(ElementsAre("last")));
  EXPECT_THAT(ApplyStep(wide, ReshapeStep{{-1}}), NamesFields(ElementsAre("shape[0]")));
  EXPECT_EQ(Result(wide, SliceStep{.step = kMaxDimension}).tensor.shape[0], 1);
  EXPECT_EQ(Result(wide, UnsqueezeStep{0}).tensor.strides[0], int64_t{1} << 62);
  Shape many(kMaxAxes, 1);
  EXPECT_THAT(ApplyStep(Fp32(many), UnsqueezeStep{0}), NamesFields(ElementsAre("axis")));
  many.push_back(1);
  EXPECT_THAT(ApplyStep(Fp32({1}), ViewStep{many}), NamesFields(ElementsAre("shape")));
}

}  // namespace
}  // namespace sextant
