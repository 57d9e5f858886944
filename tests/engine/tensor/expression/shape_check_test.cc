#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "engine/tensor/expression/tensor_analysis.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

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

struct RefusedCheck {
  const char* name;
  const char* expression;
  const char* says;
};

class ShapeCheckErrors : public ::testing::TestWithParam<RefusedCheck> {};

TEST_P(ShapeCheckErrors, NameTheColumn) {
  const auto check = CheckDeclaredShape(GetParam().expression, {2, 3}, {});
  ASSERT_THAT(check, NamesFields(ElementsAre("expression")));
  EXPECT_THAT(FieldViolationsOf(check.status())[0].description, StartsWith(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
    Table, ShapeCheckErrors,
    ::testing::Values(RefusedCheck{"TwoEllipses", "... a ...", "column 7: a second '...'"},
                      RefusedCheck{"EllipsisAndSeveral", "... a *b", "column 7: a second '...'"},
                      RefusedCheck{"StarAlone", "a *", "column 3: '*' stands before a name"},
                      RefusedCheck{"StarNumber", "a *3", "column 3: '*' stands before a name"},
                      RefusedCheck{"HashAlone", "# a b #", "column 7: '#' stands before a name"},
                      RefusedCheck{"Parenthesis", "(a b)", "column 1: '(' names no axis"},
                      RefusedCheck{"Comma", "a, b", "column 2: ',' names no axis"},
                      RefusedCheck{"Negative", "a -3", "column 3: '-' has no meaning"}),
    [](const auto& one) { return one.param.name; });

TEST(ShapeCheckLimits, AxesAndSizesAreChecked) {
  const std::string many = absl::StrJoin(std::vector<std::string>(kMaxAxes + 1, "_"), " ");
  EXPECT_THAT(CheckDeclaredShape(many, {2}, {}), NamesFields(ElementsAre("expression")));
  EXPECT_THAT(CheckDeclaredShape("a b", {2, 0}, {}), NamesFields(ElementsAre("shape[1]")));
}

}  // namespace
}  // namespace sextant
