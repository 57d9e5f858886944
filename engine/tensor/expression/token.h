// The tokens of an axis expression ("b (h d) -> b h d", "ij,jk->ik", "batch *rest 3").
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_TOKEN_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_TOKEN_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sextant {

inline constexpr int kMaxExpressionBytes = 4096;
inline constexpr int kMaxAxisNameBytes = 64;

enum class TokenKind {
  kName,      // a letter or _, then letters, digits and _
  kNumber,    // 1 to kMaxDimension
  kEllipsis,  // ...
  kArrow,     // ->
  kComma,
  kOpen,
  kClose,
  kStar,
  kHash,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  absl::string_view text = {};  // points into the expression
  int64_t number = 0;           // kNumber only
  int column = 0;               // of its first byte, from 1
};

// The tokens of `text` in order, ending with kEnd. Blanks only separate tokens. Each byte is
// examined a bounded number of times.
//
// Errors: kInvalidArgument "expression", as ExpressionError(), where the text is too long or has
// another character, a number out of range, or a name of more than kMaxAxisNameBytes.
absl::StatusOr<std::vector<Token>> Tokenise(absl::string_view text);

// kInvalidArgument "expression": "column 7: axis 'h' appears twice".
absl::Status ExpressionError(int column, absl::string_view what);

// Reads the tokens of an expression once, front to back.
class TokenReader {
 public:
  // `tokens` are from Tokenise(): the last one is kEnd.
  explicit TokenReader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& Peek() {
    ++looks_;
    return tokens_[next_];
  }
  // Returns the next token and moves past it; kEnd stays.
  Token Take() {
    const Token token = Peek();
    if (token.kind != TokenKind::kEnd) ++next_;
    return token;
  }
  bool TakeIf(TokenKind kind) {
    const bool taken = Peek().kind == kind;
    if (taken) Take();
    return taken;
  }

  // The number of look-ups: a parser's work, which is linear in the text.
  int64_t looks() const { return looks_; }

 private:
  std::vector<Token> tokens_;
  size_t next_ = 0;
  int64_t looks_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_TOKEN_H_
