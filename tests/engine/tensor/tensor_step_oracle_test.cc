// Random chains of steps against tables of element positions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

#include "absl/strings/str_cat.h"
#include "engine/tensor/tensor_step.h"
#include "tests/engine/tensor/naive_array.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

class RandomSteps {
 public:
  explicit RandomSteps(uint32_t seed) : random_(seed) {}

  int64_t Below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }

  Shape RandomShape() {
    Shape shape;
    for (int64_t axes = Below(6); axes > 0; --axes) shape.push_back(1 + Below(4));
    return shape;
  }

  // Any shape of `elements` elements.
  Shape ShapeOf(int64_t elements) {
    Shape shape;
    for (int64_t rest = elements; rest > 1 || Below(3) == 0;) {
      const int64_t size = 1 + Below(rest);
      if (rest % size != 0) continue;
      shape.insert(shape.begin() + Below(static_cast<int64_t>(shape.size()) + 1), size);
      rest /= size;
      if (shape.size() > 6) return {elements};
    }
    return shape;
  }

  // A step that is valid on `shape`, with axes counted from either end; in `expected` what it
  // makes of `array`.
  TensorStep Next(const NaiveArray& array, NaiveArray& expected) {
    const auto rank = static_cast<int64_t>(array.shape.size());
    const int64_t kind = rank == 0 ? 5 + Below(4) : Below(9);
    switch (kind) {
      case 0:
        return Select(array, expected);
      case 1:
      case 2:
        return Slice(array, expected);
      case 3:
        return Transpose(array, expected);
      case 4:
        return Permute(array, expected);
      case 5:
        return Squeeze(array, expected);
      case 6:
        return Unsqueeze(array, expected);
      case 7:
        return Expand(array, expected);
      default:
        return Reshape(array, expected);
    }
  }

 private:
  int64_t EitherEnd(int64_t axis, int64_t rank) { return Below(2) == 0 ? axis : axis - rank; }

  TensorStep Select(const NaiveArray& array, NaiveArray& expected) {
    const auto rank = static_cast<int64_t>(array.shape.size());
    const int64_t axis = Below(rank);
    const int64_t size = array.shape[static_cast<size_t>(axis)];
    const int64_t index = Below(size);
    Index shape = array.shape;
    shape.erase(shape.begin() + axis);
    expected = array.Gather(shape, [&](Index i) {
      i.insert(i.begin() + axis, index);
      return i;
    });
    return SelectStep{.axis = EitherEnd(axis, rank), .index = EitherEnd(index, size)};
  }

  TensorStep Slice(const NaiveArray& array, NaiveArray& expected) {
    const auto rank = static_cast<int64_t>(array.shape.size());
    const int64_t axis = Below(rank);
    const int64_t size = array.shape[static_cast<size_t>(axis)];
    const int64_t start = Below(size);
    const int64_t stop = start + 1 + Below(size - start);
    const int64_t step = 1 + Below(3);
    Index taken;
    for (int64_t i = start; i < stop; i += step) taken.push_back(i);
    Index shape = array.shape;
    shape[static_cast<size_t>(axis)] = static_cast<int64_t>(taken.size());
    expected = array.Gather(shape, [&](Index i) {
      int64_t& along = i[static_cast<size_t>(axis)];
      along = taken[static_cast<size_t>(along)];
      return i;
    });
    SliceStep out = {.axis = EitherEnd(axis, rank), .step = step};
    if (start > 0 || Below(2) == 0) out.start = EitherEnd(start, size);
    if (stop < size || Below(2) == 0) out.stop = stop < size ? EitherEnd(stop, size) : size + 7;
    return out;
  }

  TensorStep Transpose(const NaiveArray& array, NaiveArray& expected) {
    const auto rank = static_cast<int64_t>(array.shape.size());
    const int64_t a = Below(rank);
    const int64_t b = Below(rank);
    const auto swapped = [&](Index i) {
      std::swap(i[static_cast<size_t>(a)], i[static_cast<size_t>(b)]);
      return i;
    };
    expected = array.Gather(swapped(array.shape), swapped);
    return TransposeStep{EitherEnd(a, rank), EitherEnd(b, rank)};
  }

  TensorStep Permute(const NaiveArray& array, NaiveArray& expected) {
    Index axes(array.shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    std::shuffle(axes.begin(), axes.end(), random_);
    Index shape;
    for (const int64_t axis : axes) shape.push_back(array.shape[static_cast<size_t>(axis)]);
    expected = array.Gather(shape, [&](Index i) {
      Index source(i.size());
      for (size_t k = 0; k < i.size(); ++k) source[static_cast<size_t>(axes[k])] = i[k];
      return source;
    });
    PermuteStep out;
    for (const int64_t axis : axes) {
      out.axes.push_back(EitherEnd(axis, static_cast<int64_t>(axes.size())));
    }
    return out;
  }

  TensorStep Squeeze(const NaiveArray& array, NaiveArray& expected) {
    Index shape;
    for (const int64_t size : array.shape) {
      if (size != 1) shape.push_back(size);
    }
    expected = array.Reshaped(shape);
    return SqueezeStep{};
  }

  TensorStep Unsqueeze(const NaiveArray& array, NaiveArray& expected) {
    const auto rank = static_cast<int64_t>(array.shape.size());
    const int64_t axis = Below(rank + 1);
    Index shape = array.shape;
    shape.insert(shape.begin() + axis, 1);
    expected = array.Reshaped(shape);
    return UnsqueezeStep{EitherEnd(axis, rank + 1)};
  }

  TensorStep Expand(const NaiveArray& array, NaiveArray& expected) {
    ExpandStep out;
    Index shape;
    const int64_t added = Below(2);
    for (int64_t i = 0; i < added; ++i) shape.push_back(1 + Below(2));
    out.shape.assign(shape.begin(), shape.end());
    for (const int64_t size : array.shape) {
      shape.push_back(size == 1 ? 1 + Below(3) : size);
      out.shape.push_back(shape.back() == size && Below(2) == 0 ? -1 : shape.back());
    }
    expected = array.Gather(shape, [&](Index i) {
      i.erase(i.begin(), i.begin() + added);
      for (size_t k = 0; k < i.size(); ++k) i[k] = array.shape[k] == 1 ? 0 : i[k];
      return i;
    });
    return out;
  }

  TensorStep Reshape(const NaiveArray& array, NaiveArray& expected) {
    sextant::Shape shape = ShapeOf(static_cast<int64_t>(array.at.size()));
    expected = array.Reshaped(Index(shape.begin(), shape.end()));
    if (!shape.empty() && Below(2) == 0) {
      shape[static_cast<size_t>(Below(static_cast<int64_t>(shape.size())))] = -1;
    }
    return ReshapeStep{shape};
  }

  std::mt19937 random_;
};

// Checks a copy: every element has its own place, in a storage without gaps.
void ExpectOwnStorage(const StepResult& result, const NaiveArray& expected) {
  const NaiveArray positions = PositionsOf(result.tensor);
  EXPECT_EQ(positions.shape, expected.shape);
  const std::vector<int64_t> values = positions.Values();
  EXPECT_EQ(std::set<int64_t>(values.begin(), values.end()).size(), values.size());
  EXPECT_EQ(*std::max_element(values.begin(), values.end()) + 1, result.allocated_elements);
  EXPECT_EQ(result.tensor.storage_elements, result.allocated_elements);
}

bool IsRowMajor(const NaiveArray& positions) {
  const std::vector<int64_t> values = positions.Values();
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] != values[0] + static_cast<int64_t>(i)) return false;
  }
  return true;
}

TEST(TensorStepOracle, EveryStepShowsTheElementsThatCountingFinds) {
  RandomSteps random(20240607);
  int views = 0;
  int copies = 0;
  for (int chain = 0; chain < 3000; ++chain) {
    StridedTensor tensor = ContiguousTensor(random.RandomShape(), DataType::kFp32);
    std::string history = ShapeText(tensor.shape);
    for (int i = 0; i < 6 && tensor.element_count() < 500; ++i) {
      NaiveArray expected;
      const TensorStep step = random.Next(PositionsOf(tensor), expected);
      const auto result = ApplyStep(tensor, step);
      absl::StrAppend(&history, " ", StepName(step), " ", ShapeText(expected.shape));
      ASSERT_THAT(result, IsOk()) << history;
      ASSERT_EQ(result->is_view, StridesExist(expected)) << history;
      if (result->is_view) {
        ++views;
        ASSERT_EQ(PositionsOf(result->tensor).at, expected.at) << history;
        ASSERT_EQ(result->allocated_elements, 0);
        ASSERT_EQ(result->tensor.storage_elements, tensor.storage_elements);
      } else {
        ++copies;
        ExpectOwnStorage(*result, expected);
      }
      ASSERT_EQ(result->is_contiguous, IsRowMajor(PositionsOf(result->tensor))) << history;
      FieldViolations violations;
      CheckStridedTensor(result->tensor, "", violations);
      ASSERT_TRUE(violations.empty()) << history << violations.ToStatus();
      tensor = result->tensor;
    }
  }
  EXPECT_GT(views, 9000);
  EXPECT_GT(copies, 300);
}

TEST(TensorStepOracle, FlattenMergesTheAxesOfItsRange) {
  RandomSteps random(5);
  for (int i = 0; i < 500; ++i) {
    StridedTensor tensor = ContiguousTensor({2, 3, 2, 3}, DataType::kFp32);
    NaiveArray ignored;
    for (int k = 0; k < 2; ++k) {
      tensor = ApplyStep(tensor, random.Next(PositionsOf(tensor), ignored))->tensor;
    }
    const auto rank = static_cast<int64_t>(tensor.shape.size());
    if (rank == 0) continue;
    const int64_t first = random.Below(rank);
    const int64_t last = first + random.Below(rank - first);
    Index shape(tensor.shape.begin(), tensor.shape.end());
    for (int64_t merged = first; merged < last; ++merged) {
      shape[static_cast<size_t>(first)] *= shape[static_cast<size_t>(first) + 1];
      shape.erase(shape.begin() + first + 1);
    }
    const auto result = ApplyStep(tensor, FlattenStep{first, last - rank});
    ASSERT_THAT(result, IsOk());
    const NaiveArray expected = PositionsOf(tensor).Reshaped(shape);
    EXPECT_EQ(PositionsOf(result->tensor).shape, shape);
    EXPECT_EQ(result->is_view, StridesExist(expected));
  }
}

// view() succeeds exactly where reshape() does not copy.
TEST(TensorStepOracle, ViewIsRefusedWhereNoStridesExist) {
  RandomSteps random(11);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    StridedTensor tensor = ContiguousTensor({2, 3, 4}, DataType::kFp32);
    NaiveArray ignored;
    for (int k = 0; k < 3; ++k) {
      tensor = ApplyStep(tensor, random.Next(PositionsOf(tensor), ignored))->tensor;
    }
    const Shape shape = random.ShapeOf(tensor.element_count());
    const NaiveArray expected = PositionsOf(tensor).Reshaped(Index(shape.begin(), shape.end()));
    const auto result = ApplyStep(tensor, ViewStep{shape});
    ASSERT_EQ(result.ok(), StridesExist(expected)) << ShapeText(tensor.shape);
    if (!result.ok()) {
      ++refused;
      EXPECT_THAT(result, NamesFields(::testing::ElementsAre("shape")));
      EXPECT_THAT(std::string(result.status().message()),
                  ::testing::HasSubstr("an axis has only one stride"));
    }
  }
  EXPECT_GT(refused, 200);
}

}  // namespace
}  // namespace sextant
