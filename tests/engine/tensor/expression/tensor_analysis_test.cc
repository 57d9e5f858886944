#include "engine/tensor/expression/tensor_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StridedTensor Of(Shape shape, DataType type = DataType::kFp32) {
  return ContiguousTensor(std::move(shape), type);
}

TensorAction Transpose(int64_t a, int64_t b) { return TensorStep(TransposeStep{a, b}); }

std::vector<ActionResult> Results(const StridedTensor& tensor,
                                  const std::vector<TensorAction>& actions) {
  absl::StatusOr<TensorAnalysis> analysis = AnalyzeTensor(tensor, actions);
  EXPECT_THAT(analysis, IsOk());
  return analysis.ok() ? std::move(analysis->results) : std::vector<ActionResult>(actions.size());
}

TEST(TensorAnalysis, NothingIsDoneByNoSteps) { EXPECT_THAT(Results(Of({2}), {}), IsEmpty()); }

TEST(TensorAnalysis, EachActionWorksOnTheResultOfTheOneBefore) {
  const auto results =
      Results(Of({4, 64}), {RearrangeAction{"b (h d) -> b h d", {{"h", 8}}}, Transpose(1, 2),
                            TensorStep(ContiguousStep{}), ReduceAction{"b d h -> b d"}});
  EXPECT_EQ(results[0].name, "rearrange");
  EXPECT_THAT(results[0].step.tensor.shape, ElementsAre(4, 8, 8));
  EXPECT_TRUE(results[0].step.is_view);
  EXPECT_EQ(results[0].allocated.value(), 0);
  EXPECT_EQ(results[0].transform->read.value(), 0);
  EXPECT_EQ(results[1].name, "transpose");
  EXPECT_FALSE(results[1].step.is_contiguous);
  EXPECT_FALSE(results[1].transform.has_value());
  EXPECT_EQ(results[2].allocated.value(), 4 * 64 * 4);
  EXPECT_EQ(results[3].allocated.value(), 4 * 8 * 4);
  EXPECT_EQ(results[3].transform->read.value(), 4 * 64 * 4);
  EXPECT_EQ(results[3].transform->written.value(), 4 * 8 * 4);
  EXPECT_EQ(results[3].transform->flops.value(), 4 * 64);
  EXPECT_THAT(results[3].transform->axes,
              ElementsAre(AxisSize{"b", 4}, AxisSize{"d", 8}, AxisSize{"h", 8}));
}

// Rows of 33 bytes for 32 elements: 8.25 bits each; one a row where a row has one.
TEST(TensorAnalysis, BytesAreThoseOfTheFormat) {
  const auto results = Results(
      Of({2, 64}, DataType::kMxfp8),
      {Transpose(0, 1), TensorStep(ContiguousStep{}), TensorStep(CastStep{DataType::kNvfp4})});
  EXPECT_EQ(results[1].allocated.value(), 64 * 33);  // rows of 2 elements: a padded block each
  EXPECT_EQ(results[2].allocated.value(), 64 * 9);
}

TEST(TensorAnalysis, ANameIsOneSizeInAllChecksOfAChain) {
  const auto results =
      Results(Of({3, 4}), {CheckShapeAction{"seq hidden"}, Transpose(0, 1),
                           CheckShapeAction{"hidden seq"}, CheckShapeAction{"seq hidden"}});
  EXPECT_TRUE(results[0].check->matches);
  EXPECT_TRUE(results[2].check->matches);
  EXPECT_FALSE(results[3].check->matches);
  EXPECT_THAT(results[3].step.reason, HasSubstr("'seq' is bound to 3 and to 4"));
  EXPECT_THAT(results[3].step.tensor.shape, ElementsAre(4, 3));
  EXPECT_EQ(results[3].allocated.value(), 0);
}

TEST(TensorAnalysis, FindsAnElementInTheStorage) {
  const auto results =
      Results(Of({4, 4}), {FlatIndexAction{{1, 2}}, Transpose(0, 1), FlatIndexAction{{1, -2}}});
  EXPECT_EQ(results[0].storage_position, 6);
  EXPECT_EQ(results[2].storage_position, 9);  // [2, 1] of the storage
}

struct RefusedStep {
  const char* name;
  TensorAction action;
  const char* field;
  const char* says;
};

class TensorAnalysisErrors : public ::testing::TestWithParam<RefusedStep> {};

TEST_P(TensorAnalysisErrors, NameTheStepAndTheField) {
  const auto results = AnalyzeTensor(Of({2, 3, 4}), {Transpose(0, 2), GetParam().action});
  EXPECT_THAT(results, NamesFields(ElementsAre(GetParam().field)));
  EXPECT_THAT(std::string(results.status().message()), HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Table, TensorAnalysisErrors,
    ::testing::Values(
        RefusedStep{"Step", TensorStep(SelectStep{.axis = 3}), "steps[1].select.axis", "-3 to 2"},
        RefusedStep{"UnknownAxis", RearrangeAction{"a b c -> a b c d"},
                    "steps[1].rearrange.expression", "column 16"},
        RefusedStep{"MissingSize", RepeatAction{"a b c -> a b c d"}, "steps[1].repeat.expression",
                    "'d'"},
        RefusedStep{"SizeMismatch", RearrangeAction{"a b (c d) -> a b c d", {{"c", 5}}},
                    "steps[1].rearrange.expression", "5"},
        RefusedStep{"SizeOfNoAxis", ReduceAction{"a b c -> a", {{"e", 5}}},
                    "steps[1].reduce.sizes[0].name", "'e'"},
        RefusedStep{"TooFewAxes", ReduceAction{"a b -> a"}, "steps[1].reduce.expression", "3"},
        RefusedStep{"NoAxis", CheckShapeAction{"a ) c"}, "steps[1].check_shape.expression",
                    "column 3"},
        RefusedStep{"Outside", FlatIndexAction{{0, 3, 0}}, "steps[1].flat_index.index[1]",
                    "-3 to 2"},
        RefusedStep{"TooFewIndices", FlatIndexAction{{0, 0}}, "steps[1].flat_index.index", "3"}),
    [](const auto& one) { return one.param.name; });

TEST(TensorAnalysisLimits, SixtyFourSteps) {
  EXPECT_THAT(AnalyzeTensor(Of({1}), std::vector<TensorAction>(kMaxTensorActions,
                                                               TensorStep(ContiguousStep{}))),
              IsOk());
  EXPECT_THAT(AnalyzeTensor(Of({1}), std::vector<TensorAction>(kMaxTensorActions + 1,
                                                               TensorStep(ContiguousStep{}))),
              NamesFields(ElementsAre("steps")));
}

TEST(TensorAnalysisLimits, GivenSizesAreCounted) {
  const std::vector<AxisSize> sizes(257, AxisSize{"b", 3});
  EXPECT_THAT(AnalyzeTensor(Of({2, 3}), {RearrangeAction{"a b -> b a", sizes}}),
              NamesFields(ElementsAre("steps[0].rearrange.sizes")));
}

TEST(TensorAnalysisLimits, NamesInAllChecksAreCounted) {
  std::vector<TensorAction> checks;
  for (size_t i = 0; i < kMaxCheckedNames / 2; ++i) {
    checks.push_back(CheckShapeAction{absl::StrCat("a", i, " *b", i)});
  }
  checks.push_back(checks[0]);  // no further names
  EXPECT_THAT(AnalyzeTensor(Of({2, 3}), checks), IsOk());
  checks[kMaxCheckedNames / 2] = CheckShapeAction{"c ..."};
  EXPECT_THAT(AnalyzeTensor(Of({2, 3}), checks),
              NamesFields(ElementsAre("steps[32].check_shape.expression")));
}

TEST(TensorAnalysisLimits, MoreBytesThanAnInt64Holds) {
  const StridedTensor huge = Of({kMaxDimension, int64_t{1} << 22}, DataType::kInt4);
  EXPECT_THAT(AnalyzeTensor(huge, {TensorStep(CastStep{DataType::kFp64})}),
              NamesFields(ElementsAre("steps[0].cast")));
  // 2^61 bytes each: the fourth is one too many.
  std::vector<TensorAction> copies(3, TensorStep(ElementwiseStep{"exp"}));
  EXPECT_EQ(AnalyzeTensor(huge, copies)->allocated.value(), 3 * (int64_t{1} << 61));
  copies.push_back(copies[0]);
  EXPECT_THAT(AnalyzeTensor(huge, copies), NamesFields(ElementsAre("steps")));
}

}  // namespace
}  // namespace sextant
