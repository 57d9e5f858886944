// Chains of actions on a tensor, the check of its declared shape, and the work of parsers, which
// grows no faster than the text: counted, not timed.
#include "engine/tensor/expression/tensor_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/tensor/expression/axis_term.h"
#include "engine/tensor/expression/einsum_pattern.h"
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

struct ShapeCase {
  const char* name;
  const char* expression;
  Shape shape;
  std::vector<std::string> mismatches;  // none: it matches
  std::vector<AxisSize> bound;
};

class ShapeCheckTest : public ::testing::TestWithParam<ShapeCase> {};

TEST_P(ShapeCheckTest, BindsNamesAndSaysWhatDiffers) {
  const auto check = CheckDeclaredShape(GetParam().expression, GetParam().shape, {});
  ASSERT_THAT(check, IsOk());
  EXPECT_EQ(check->mismatches, GetParam().mismatches);
  EXPECT_EQ(check->matches, GetParam().mismatches.empty());
  EXPECT_EQ(check->bindings.sizes, GetParam().bound);
}

INSTANTIATE_TEST_SUITE_P(
    Table, ShapeCheckTest,
    ::testing::Values(
        ShapeCase{"Names", "batch seq", {2, 3}, {}, {{"batch", 2}, {"seq", 3}}},
        ShapeCase{"FewerAxes", "a b c", {2, 3, 2, 4}, {"3 axes declared, the tensor has 4"}, {}},
        ShapeCase{"Scalar", "", {}, {}, {}},
        ShapeCase{"NoScalar", "", {1}, {"0 axes declared, the tensor has 1"}, {}},
        ShapeCase{
            "TwoSizes", "a s s", {2, 3, 4}, {"'s' is bound to 3 and to 4"}, {{"a", 2}, {"s", 3}}},
        ShapeCase{"Fixed", "a 3", {2, 3}, {}, {{"a", 2}}},
        ShapeCase{"OtherFixed",
                  "a 3 4",
                  {2, 4, 5},
                  {"axis 1 has to be 3, and is 4", "axis 2 has to be 4, and is 5"},
                  {{"a", 2}}},
        ShapeCase{"Any", "_ a _", {2, 3, 4}, {}, {{"a", 3}}},
        ShapeCase{"EllipsisOfTwo", "a ... b", {2, 3, 4, 5}, {}, {{"a", 2}, {"b", 5}}},
        ShapeCase{"EllipsisOfNone", "a ... b", {2, 5}, {}, {{"a", 2}, {"b", 5}}},
        ShapeCase{"TooFewForAnEllipsis",
                  "a ... b",
                  {2},
                  {"at least 2 axes declared, the tensor has 1"},
                  {}},
        ShapeCase{"StretchesOne", "s #s", {3, 1}, {}, {{"s", 3}}},
        ShapeCase{"StretchesItself", "#s s", {3, 3}, {}, {{"s", 3}}},
        // A 1 that may be stretched leaves the name free.
        ShapeCase{"OneBindsNothing", "#s s", {1, 3}, {}, {{"s", 3}}},
        ShapeCase{"DoesNotStretchTwo", "s #s", {3, 2}, {"'s' is bound to 3 and to 2"}, {{"s", 3}}}),
    [](const auto& one) { return one.param.name; });

TEST(ShapeCheck, NamesHoldAcrossTensors) {
  const auto first = CheckDeclaredShape("*batch seq hidden", {2, 3, 4, 8}, {});
  ASSERT_THAT(first, IsOk());
  ASSERT_EQ(first->bindings.several.size(), 1u);
  EXPECT_THAT(first->bindings.several[0].sizes, ElementsAre(2, 3));
  const auto second = CheckDeclaredShape("*batch seq", {2, 5, 6}, first->bindings);
  ASSERT_THAT(second, IsOk());
  EXPECT_THAT(second->mismatches, ElementsAre("'*batch' is bound to [2, 3] and to [2, 5]",
                                              "'seq' is bound to 4 and to 6"));
  EXPECT_TRUE(CheckDeclaredShape("*batch hidden", {2, 3, 8}, first->bindings)->matches);
}

TEST(ShapeCheckLimits, AxesAndSizesAreChecked) {
  const std::string many = absl::StrJoin(std::vector<std::string>(kMaxAxes + 1, "_"), " ");
  EXPECT_THAT(CheckDeclaredShape(many, {2}, {}), NamesFields(ElementsAre("expression")));
  EXPECT_THAT(CheckDeclaredShape("a b", {2, 0}, {}), NamesFields(ElementsAre("shape[1]")));
}

std::string Repeated(absl::string_view piece, size_t bytes) {
  std::string text;
  while (text.size() + piece.size() <= bytes) absl::StrAppend(&text, piece);
  return text;
}

class ParsingCost : public ::testing::TestWithParam<const char*> {};

TEST_P(ParsingCost, IsLinearInTheText) {
  for (const size_t bytes : {64u, 1024u, 4096u}) {
    const std::string text = Repeated(GetParam(), bytes);  // which the tokens point into
    const auto tokens = Tokenise(text);
    if (!tokens.ok()) continue;
    ASSERT_LE(tokens->size(), bytes + 1);
    const auto most = static_cast<int64_t>(6 * tokens->size());
    for (const EinsumStyle style : {EinsumStyle::kNamed, EinsumStyle::kLetters}) {
      TokenReader reader(*tokens);
      (void)ParseEinsum(reader, style);
      EXPECT_LE(reader.looks(), most);
    }
    for (const auto kind :
         {AxisTransformKind::kRearrange, AxisTransformKind::kReduce, AxisTransformKind::kRepeat}) {
      TokenReader reader(*tokens);
      (void)ParseAxisPattern(reader, kind);
      EXPECT_LE(reader.looks(), most);
    }
    TokenReader reader(*tokens);
    (void)ParseDeclaredAxes(reader);
    EXPECT_LE(reader.looks(), most);
  }
}

INSTANTIATE_TEST_SUITE_P(Texts, ParsingCost,
                         ::testing::Values("(", ")", ",", "->", "...", "a ", "a,", "(a)", "()",
                                           "1 ", "*a ", "#", "(a b) ", "a->", "...,", " "));

// Names and blanks between them are read once each.
TEST(ParsingCost, NoTokenOverlapsAnother) {
  const std::string text = Repeated("ab (c1 ...)->, 17 *_#", 4096);
  const auto tokens = Tokenise(text);
  ASSERT_TRUE(tokens.ok());
  size_t bytes = 0;
  int end = 1;
  for (const Token& token : *tokens) {
    EXPECT_GE(token.column, end);
    end = token.column + static_cast<int>(token.text.size());
    bytes += token.text.size();
  }
  EXPECT_LE(bytes, text.size());
  EXPECT_EQ(tokens->back().kind, TokenKind::kEnd);
}

}  // namespace
}  // namespace sextant
