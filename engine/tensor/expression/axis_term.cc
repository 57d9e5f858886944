#include "engine/tensor/expression/axis_term.h"

#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/tensor/shape.h"

namespace sextant {
namespace {

bool EndsTerm(TokenKind kind) {
  return kind == TokenKind::kComma || kind == TokenKind::kArrow || kind == TokenKind::kEnd;
}

class TermParser {
 public:
  TermParser(TokenReader& reader, bool allows_twice)
      : reader_(reader), allows_twice_(allows_twice) {
    term_.column = reader.Peek().column;
  }

  absl::StatusOr<AxisTerm> Parse() {
    while (!EndsTerm(reader_.Peek().kind)) {
      const Token token = reader_.Take();
      AxisGroup group = {.is_composite = token.kind == TokenKind::kOpen, .column = token.column};
      if (group.is_composite) {
        SEXTANT_RETURN_IF_ERROR(ReadComposite(group));
      } else {
        SEXTANT_RETURN_IF_ERROR(Add(token, group));
      }
      term_.groups.push_back(std::move(group));
      if (term_.groups.size() > kMaxAxes) return TooMany(token.column);
    }
    return std::move(term_);
  }

  absl::StatusOr<AxisTerm> ParseLetters() {
    while (!EndsTerm(reader_.Peek().kind)) {
      const Token token = reader_.Take();
      if (token.kind == TokenKind::kEllipsis) {
        SEXTANT_RETURN_IF_ERROR(AddAlone(token));
        continue;
      }
      if (token.kind != TokenKind::kName ||
          !std::all_of(token.text.begin(), token.text.end(), absl::ascii_isalpha)) {
        return ExpressionError(token.column, absl::StrCat("'", token.text,
                                                          "' is not letters, of which each names "
                                                          "an axis here; put blanks between axes "
                                                          "to name them in words"));
      }
      for (size_t i = 0; i < token.text.size(); ++i) {
        SEXTANT_RETURN_IF_ERROR(AddAlone({.kind = TokenKind::kName,
                                          .text = token.text.substr(i, 1),
                                          .column = token.column + static_cast<int>(i)}));
      }
    }
    return std::move(term_);
  }

 private:
  static absl::Status TooMany(int column) {
    return ExpressionError(column, absl::StrCat("more than ", kMaxAxes, " axes"));
  }

  absl::Status ReadComposite(AxisGroup& group) {
    while (!EndsTerm(reader_.Peek().kind)) {
      const Token token = reader_.Take();
      if (token.kind == TokenKind::kClose) return absl::OkStatus();
      if (token.kind == TokenKind::kOpen) {
        return ExpressionError(token.column, "a parenthesis within another: write (a b c)");
      }
      SEXTANT_RETURN_IF_ERROR(Add(token, group));
    }
    return ExpressionError(group.column, "the parenthesis is not closed");
  }

  absl::Status AddAlone(const Token& token) {
    AxisGroup group = {.column = token.column};
    SEXTANT_RETURN_IF_ERROR(Add(token, group));
    term_.groups.push_back(std::move(group));
    return absl::OkStatus();
  }

  absl::Status Add(const Token& token, AxisGroup& group) {
    if (++axis_count_ > kMaxAxes) return TooMany(token.column);
    TermAxis axis = {.text = token.text, .number = token.number, .column = token.column};
    if (token.kind == TokenKind::kEllipsis) {
      if (term_.has_ellipsis) return ExpressionError(token.column, "'...' appears twice");
      term_.has_ellipsis = true;
      axis.kind = AxisKind::kEllipsis;
    } else if (token.kind == TokenKind::kNumber) {
      axis.kind = AxisKind::kNumber;
    } else if (token.kind == TokenKind::kName) {
      if (!seen_.insert(token.text).second && !allows_twice_) {
        return ExpressionError(token.column, absl::StrCat("axis '", token.text, "' appears twice"));
      }
    } else {
      return ExpressionError(token.column, absl::StrCat("'", token.text,
                                                        "' where an axis, a size "
                                                        "or ... belongs"));
    }
    group.axes.push_back(axis);
    return absl::OkStatus();
  }

  TokenReader& reader_;
  const bool allows_twice_;
  AxisTerm term_;
  int axis_count_ = 0;
  absl::flat_hash_set<absl::string_view> seen_;
};

}  // namespace

absl::StatusOr<AxisTerm> ParseAxisTerm(TokenReader& reader) {
  return TermParser(reader, /*allows_twice=*/false).Parse();
}

absl::StatusOr<AxisTerm> ParseLetterTerm(TokenReader& reader) {
  return TermParser(reader, /*allows_twice=*/true).ParseLetters();
}

}  // namespace sextant
