#include "engine/tensor/strided_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

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

}  // namespace
}  // namespace sextant
