#include "engine/tensor/expression/token.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/shape.h"

namespace sextant {
namespace {

constexpr std::pair<absl::string_view, TokenKind> kSymbols[] = {
    {"...", TokenKind::kEllipsis}, {"->", TokenKind::kArrow}, {",", TokenKind::kComma},
    {"(", TokenKind::kOpen},       {")", TokenKind::kClose},  {"*", TokenKind::kStar},
    {"#", TokenKind::kHash},
};

bool IsNameByte(char c) { return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The longest run of name bytes (letters, digits and `_`) at the start of `rest`.
absl::string_view WordOf(absl::string_view rest) {
  const auto* end = std::find_if_not(rest.begin(), rest.end(), IsNameByte);
  return rest.substr(0, static_cast<size_t>(end - rest.begin()));
}

absl::StatusOr<Token> WordToken(absl::string_view word, int column) {
  if (!absl::ascii_isdigit(static_cast<unsigned char>(word.front()))) {
    if (word.size() > kMaxAxisNameBytes) {
      return ExpressionError(column, absl::StrCat("an axis name of ", word.size(),
                                                  " letters: at most ", kMaxAxisNameBytes));
    }
    return Token{.kind = TokenKind::kName, .text = word, .column = column};
  }
  if (!std::all_of(word.begin(), word.end(), absl::ascii_isdigit)) {
    return ExpressionError(column, absl::StrCat("'", word.substr(0, kMaxAxisNameBytes),
                                                "' begins with a digit and is not a number: axis "
                                                "names begin with a letter"));
  }
  int64_t number = 0;
  if (!absl::SimpleAtoi(word, &number) || number < 1 || number > kMaxDimension) {
    return ExpressionError(column, absl::StrCat("'", word.substr(0, kMaxAxisNameBytes),
                                                "' is not a size: write 1 to ", kMaxDimension));
  }
  return Token{.kind = TokenKind::kNumber, .text = word, .number = number, .column = column};
}

absl::StatusOr<Token> TokenAt(absl::string_view rest, int column) {
  if (IsNameByte(rest.front())) return WordToken(WordOf(rest), column);
  for (const auto& [text, kind] : kSymbols) {
    if (absl::StartsWith(rest, text)) {
      return Token{.kind = kind, .text = rest.substr(0, text.size()), .column = column};
    }
  }
  return ExpressionError(column, absl::StrCat("'", absl::CHexEscape(rest.substr(0, 1)),
                                              "' has no meaning here: write axis names of letters, "
                                              "digits and _, sizes, and ... ( ) , ->"));
}

}  // namespace

absl::Status ExpressionError(int column, absl::string_view what) {
  return InvalidField("expression", absl::StrCat("column ", column, ": ", what));
}

absl::StatusOr<std::vector<Token>> Tokenise(absl::string_view text) {
  if (text.size() > kMaxExpressionBytes) {
    return InvalidField("expression",
                        absl::StrCat("has ", text.size(), " bytes: at most ", kMaxExpressionBytes));
  }
  std::vector<Token> tokens;
  size_t at = 0;
  while (at < text.size()) {
    if (absl::ascii_isspace(static_cast<unsigned char>(text[at]))) {
      ++at;
      continue;
    }
    SEXTANT_ASSIGN_OR_RETURN(const Token token, TokenAt(text.substr(at), static_cast<int>(at) + 1));
    at += token.text.size();
    tokens.push_back(token);
  }
  tokens.push_back({.column = static_cast<int>(text.size()) + 1});
  return tokens;
}

}  // namespace sextant
