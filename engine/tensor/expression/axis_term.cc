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

absl::Status CheckNumbers(const AxisTerm& term, bool any_number, absl::string_view advice) {
  for (const AxisGroup& group : term.groups) {
    for (const TermAxis& axis : group.axes) {
      if (axis.kind != AxisKind::kNumber || axis.number == 1 || any_number) continue;
      return ExpressionError(axis.column,
                             absl::StrCat("an axis of ", axis.number, " without a name: ", advice));
    }
  }
  return absl::OkStatus();
}

// Checks that every name and "..." of `term` is in `other`.
absl::Status CheckIn(const AxisTerm& term, const AxisTerm& other, absl::string_view what_is_wrong) {
  absl::flat_hash_set<absl::string_view> known;
  for (const AxisGroup& group : other.groups) {
    for (const TermAxis& axis : group.axes) known.insert(axis.text);
  }
  for (const AxisGroup& group : term.groups) {
    for (const TermAxis& axis : group.axes) {
      if (axis.kind == AxisKind::kNumber || known.contains(axis.text)) continue;
      return ExpressionError(axis.column, absl::StrCat("axis '", axis.text, "' ", what_is_wrong));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckEllipsis(const AxisPattern& pattern) {
  for (const AxisGroup& group : pattern.left.groups) {
    for (const TermAxis& axis : group.axes) {
      if (axis.kind != AxisKind::kEllipsis || !group.is_composite) continue;
      return ExpressionError(axis.column,
                             "'...' in parentheses on the left: what it stands for "
                             "can't be known there");
    }
  }
  if (!pattern.right.has_ellipsis || pattern.left.has_ellipsis) return absl::OkStatus();
  return ExpressionError(pattern.right.column, "'...' is on the right alone");
}

absl::Status CheckSides(const AxisPattern& pattern, AxisTransformKind kind) {
  SEXTANT_RETURN_IF_ERROR(CheckEllipsis(pattern));
  SEXTANT_RETURN_IF_ERROR(CheckNumbers(pattern.left, kind == AxisTransformKind::kReduce,
                                       "only reduce takes one away; name it"));
  SEXTANT_RETURN_IF_ERROR(CheckNumbers(pattern.right, kind == AxisTransformKind::kRepeat,
                                       "only repeat adds one; name it"));
  if (kind != AxisTransformKind::kReduce) {
    SEXTANT_RETURN_IF_ERROR(
        CheckIn(pattern.left, pattern.right, "is on the left alone: only reduce takes axes away"));
  }
  if (kind != AxisTransformKind::kRepeat) {
    SEXTANT_RETURN_IF_ERROR(
        CheckIn(pattern.right, pattern.left, "is on the right alone: only repeat adds axes"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AxisTerm> ParseAxisTerm(TokenReader& reader) {
  return TermParser(reader, /*allows_twice=*/false).Parse();
}

absl::StatusOr<AxisTerm> ParseLetterTerm(TokenReader& reader) {
  return TermParser(reader, /*allows_twice=*/true).ParseLetters();
}

absl::StatusOr<AxisPattern> ParseAxisPattern(TokenReader& reader, AxisTransformKind kind) {
  AxisPattern pattern;
  SEXTANT_ASSIGN_OR_RETURN(pattern.left, ParseAxisTerm(reader));
  const Token arrow = reader.Take();
  if (arrow.kind != TokenKind::kArrow) {
    return ExpressionError(arrow.column,
                           "'->' belongs here: one tensor's axes before it, the "
                           "result's after it");
  }
  SEXTANT_ASSIGN_OR_RETURN(pattern.right, ParseAxisTerm(reader));
  const Token end = reader.Take();
  if (end.kind != TokenKind::kEnd) {
    return ExpressionError(end.column, absl::StrCat("'", end.text,
                                                    "' after the result, which is "
                                                    "one tensor"));
  }
  SEXTANT_RETURN_IF_ERROR(CheckSides(pattern, kind));
  return pattern;
}

}  // namespace sextant
