// The largest graphs that are answered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "tests/engine/operation/graphs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;

enum class OrderIs { kGiven, kSearchedFor };

GraphSpec Largest() {
  GraphSpec spec = {.tensors = {InputOf("h0", {2, 2})}, .data_type = DataType::kBf16};
  for (int i = 1; i <= kMaxGraphOperations; ++i) {
    const std::string before = absl::StrCat("h", i - 1);
    if (static_cast<int>(spec.tensors.size()) < kMaxGraphTensors - kMaxGraphOperations) {
      spec.tensors.push_back(ParameterOf(absl::StrCat("w", i), {2, 2}));
    }
    const std::string w =
        absl::StrCat("w", std::min(i, kMaxGraphTensors - kMaxGraphOperations - 1));
    spec.operations.push_back(Make(absl::StrCat("h", i), Linear{}, {before, w}));
    spec.operations.back().segment = absl::StrCat("s", i / 64);
  }
  for (int i = 0; i <= kMaxGraphOperations / 64; ++i) {
    spec.checkpointed_segments.push_back(absl::StrCat("s", i));
  }
  return spec;
}

// The largest graph: its answer has as many rows as it has tensors and operations, and of every
// operation as many steps as alone: nothing grows but with the graph.
TEST(GraphLimits, TheLargestGraphIsAnswered) {
  const GraphSpec spec = Largest();
  const auto analysis = AnalyzeGraph(spec);
  ASSERT_THAT(analysis, IsOk()) << analysis.status();
  EXPECT_EQ(analysis->tensors.size(), static_cast<size_t>(kMaxGraphTensors));
  EXPECT_EQ(analysis->totals.backward.flops().value(), (2 * kMaxGraphOperations - 1) * 16.0);
  EXPECT_EQ(analysis->checkpointed->recompute.flops(), analysis->totals.forward.flops());
  EXPECT_EQ(analysis->memory.saved.size(), static_cast<size_t>(kMaxGraphOperations));
  EXPECT_EQ(analysis->checkpointed->saved.size(),
            static_cast<size_t>(kMaxGraphOperations / 64 + 1));
  size_t savers = 0;
  for (const SavedStorage& saved : analysis->memory.saved) savers += saved.by.size();
  EXPECT_EQ(savers, static_cast<size_t>(kMaxGraphOperations));
}

// A call is asked whether it is to end in each pass over the graph, and ends when it is to.
TEST(GraphLimits, TheLargestGraphEndsWhereItsCallDoes) {
  const GraphSpec spec = Largest();
  int asked = 0;
  const auto count = [&asked] {
    ++asked;
    return absl::OkStatus();
  };
  CallWork whole(count);
  ASSERT_THAT(AnalyzeGraph(spec, whole), IsOk());
  EXPECT_GE(asked, 100);
  for (const int last : {1, asked / 4, asked / 2, asked - 1}) {
    int left = last;
    const auto stop = [&left] {
      return --left > 0 ? absl::OkStatus() : absl::CancelledError("the caller left");
    };
    CallWork work(stop);
    EXPECT_EQ(AnalyzeGraph(spec, work).status(), absl::CancelledError("the caller left")) << last;
    EXPECT_EQ(left, 0);
  }
}

TEST(GraphLimits, SixtyFourOperandsAreTaken) {
  GraphSpec spec = {.tensors = {ParameterOf("w", {3})},
                    .operations = {Make("y", Plain(ElementwiseFunction::kAdd),
                                        std::vector<std::string>(64, "w"))},
                    .data_type = DataType::kFp32};
  const auto analysis = AnalyzeGraph(spec);
  ASSERT_THAT(analysis, IsOk());
  EXPECT_EQ(analysis->totals.accumulation.flops(), Flops(63 * 3));
}

// Orders of contraction are searched for: milliseconds for each einsum of ten operands.
TEST(GraphLimits, EinsumsAreAsManyAsTheirSearchesAllow) {
  const auto einsums = [](int count, OrderIs order) {
    GraphSpec spec = {.tensors = {InputOf("x", {2, 2})}, .data_type = DataType::kBf16};
    for (int i = 0; i < count; ++i) {
      Einsum einsum = {.expression = "a b, b c, c d -> a d"};
      einsum.left_to_right = order == OrderIs::kGiven;
      spec.operations.push_back(Make(absl::StrCat("e", i), einsum, {"x", "x", "x"}));
    }
    return AnalyzeGraph(spec);
  };
  EXPECT_THAT(einsums(1600, OrderIs::kSearchedFor), IsOk());
  EXPECT_THAT(FieldViolationsOf(einsums(1700, OrderIs::kSearchedFor).status()),
              ElementsAre(Field(&FieldViolation::field, "operations")));
  EXPECT_THAT(einsums(1700, OrderIs::kGiven), IsOk());
}

}  // namespace
}  // namespace sextant
