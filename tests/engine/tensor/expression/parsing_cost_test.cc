// The work of parsers grows no faster than the text: counted, not timed.
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "engine/tensor/expression/axis_term.h"
#include "engine/tensor/expression/einsum_pattern.h"
#include "engine/tensor/expression/tensor_analysis.h"

namespace sextant {
namespace {

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
