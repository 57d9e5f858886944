// Expressions that are refused, each with its field and the start of what is said about it:
// refused_expressions.csv.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/tensor/expression/axis_transform.h"
#include "engine/tensor/expression/einsum.h"
#include "engine/tensor/expression/tensor_analysis.h"
#include "tests/support/csv.h"
#include "tests/support/source_folder.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

int64_t Whole(absl::string_view text) {
  int64_t out = 0;
  EXPECT_TRUE(absl::SimpleAtoi(text, &out)) << text;
  return out;
}

// "2 3, 3 4": the shapes of two operands.
std::vector<Shape> ShapesOf(const std::string& text) {
  std::vector<Shape> out;
  for (const absl::string_view shape : absl::StrSplit(text, ", ")) {
    out.emplace_back();
    for (const absl::string_view size : absl::StrSplit(shape, ' ')) {
      out.back().push_back(Whole(size));
    }
  }
  return out;
}

// "h=8 d=9"
std::vector<AxisSize> SizesOf(const std::string& text) {
  std::vector<AxisSize> out;
  for (const absl::string_view size : absl::StrSplit(text, ' ', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(size, '=');
    out.push_back({parts.first, Whole(parts.second)});
  }
  return out;
}

absl::Status Analyzed(const CsvRow& row) {
  const std::string& expression = row.at("expression");
  const std::vector<Shape> shapes = ShapesOf(row.at("shapes"));
  const std::vector<AxisSize> sizes = SizesOf(row.at("sizes"));
  const std::string& analysis = row.at("analysis");
  if (analysis == "einsum") return EinsumCostOf(expression, shapes).status();
  if (analysis == "check_shape") return CheckDeclaredShape(expression, shapes[0], {}).status();
  const StridedTensor tensor = ContiguousTensor(shapes[0], DataType::kFp32);
  if (analysis == "rearrange") return Rearrange(tensor, expression, sizes).status();
  if (analysis == "repeat") return Repeat(tensor, expression, sizes).status();
  EXPECT_EQ(analysis, "reduce");
  return Reduce(tensor, expression, sizes, ReductionKind::kSum).status();
}

TEST(RefusedExpressions, NameTheirPlace) {
  const auto rows = ReadCsv(
      absl::StrCat(SourceFolder(), "/tests/engine/tensor/expression/refused_expressions.csv"));
  ASSERT_THAT(rows, IsOk());
  EXPECT_EQ(rows->size(), 67u);
  for (const CsvRow& row : *rows) {
    SCOPED_TRACE(absl::StrCat(row.at("analysis"), " ", row.at("name")));
    const absl::Status status = Analyzed(row);
    EXPECT_THAT(status, NamesFields(ElementsAre(row.at("field"))));
    if (FieldViolationsOf(status).empty()) continue;
    EXPECT_THAT(FieldViolationsOf(status)[0].description, StartsWith(row.at("says")));
  }
}

}  // namespace
}  // namespace sextant
