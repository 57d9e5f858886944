// The words of an axis expression ("b (h d) -> b h d", "ij,jk->ik", "batch *rest 3").
#ifndef SEXTANT_ENGINE_TENSOR_EXPRESSION_TOKEN_H_
#define SEXTANT_ENGINE_TENSOR_EXPRESSION_TOKEN_H_

#include <cstdint>
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
  int64_t number = 0;           // of a kNumber
  int column = 0;               // of its first byte, from 1
};

// The tokens of `text` in order, the last one kEnd. Blanks only separate. Every byte is looked at
// a bounded number of times.
//
// Errors: kInvalidArgument "expression", as ExpressionError(), where the text is too long, holds
// something else, a number out of range, or a name of more than kMaxAxisNameBytes.
absl::StatusOr<std::vector<Token>> Tokenise(absl::string_view text);

// kInvalidArgument "expression": "column 7: axis 'h' appears twice".
absl::Status ExpressionError(int column, absl::string_view what);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TENSOR_EXPRESSION_TOKEN_H_
