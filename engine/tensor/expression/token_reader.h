// Goes through the tokens of an expression once, front to back.
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_TOKEN_READER_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_TOKEN_READER_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "engine/tensor/expression/token.h"

namespace sextant {

class TokenReader {
 public:
  // `tokens` as Tokenise() makes them: the last one is kEnd.
  explicit TokenReader(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& Peek() {
    ++looks_;
    return tokens_[next_];
  }
  // The next token, which is then behind; kEnd stays.
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

  // How often a token was looked at: a parser's work, which grows as the text does.
  int64_t looks() const { return looks_; }

 private:
  std::vector<Token> tokens_;
  size_t next_ = 0;
  int64_t looks_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_TOKEN_READER_H_
