#include "engine/tensor/expression/einsum_pattern.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

bool NamesAnAxis(const Token& token) {
  return token.kind == TokenKind::kName || token.kind == TokenKind::kNumber ||
         token.kind == TokenKind::kEllipsis;
}

bool IsOnlyNamed(const Token& token) {
  switch (token.kind) {
    case TokenKind::kName:
      return !std::all_of(token.text.begin(), token.text.end(), absl::ascii_isalpha);
    case TokenKind::kNumber:
    case TokenKind::kOpen:
      return true;
    default:
      return false;
  }
}

absl::StatusOr<AxisTerm> ParseTerm(TokenReader& reader, EinsumStyle style) {
  if (style == EinsumStyle::kLetters) return ParseLetterTerm(reader);
  SEXTANT_ASSIGN_OR_RETURN(AxisTerm term, ParseAxisTerm(reader));
  for (const AxisGroup& group : term.groups) {
    if (!group.is_composite) continue;
    return ExpressionError(group.column,
                           "einsum takes no parentheses: split or merge axes by rearrange");
  }
  return term;
}

// "..." and the letters that occur once. Their columns are those in the operands.
AxisTerm ImplicitOutput(const std::vector<AxisTerm>& operands) {
  AxisTerm output;
  std::map<char, int> occurrences;
  for (const AxisTerm& operand : operands) {
    for (const AxisGroup& group : operand.groups) {
      const TermAxis& axis = group.axes[0];
      if (axis.kind == AxisKind::kName) ++occurrences[axis.text[0]];
      if (axis.kind != AxisKind::kEllipsis || output.has_ellipsis) continue;
      output.has_ellipsis = true;
      output.groups.insert(output.groups.begin(), group);
    }
  }
  std::map<char, AxisGroup> once;
  for (const AxisTerm& operand : operands) {
    for (const AxisGroup& group : operand.groups) {
      const TermAxis& axis = group.axes[0];
      if (axis.kind == AxisKind::kName && occurrences[axis.text[0]] == 1) {
        once[axis.text[0]] = group;
      }
    }
  }
  for (const auto& [letter, group] : once) output.groups.push_back(group);
  return output;
}

absl::Status CheckOutput(const EinsumPattern& pattern) {
  absl::flat_hash_set<absl::string_view> known;
  bool has_ellipsis = false;
  for (const AxisTerm& operand : pattern.operands) {
    has_ellipsis = has_ellipsis || operand.has_ellipsis;
    for (const AxisGroup& group : operand.groups) known.insert(group.axes[0].text);
  }
  absl::flat_hash_set<absl::string_view> used;
  for (const AxisGroup& group : pattern.output.groups) {
    const TermAxis& axis = group.axes[0];
    if (axis.kind == AxisKind::kEllipsis && !has_ellipsis) {
      return ExpressionError(axis.column, "'...' is in no operand");
    }
    if (axis.kind == AxisKind::kNumber && axis.number != 1) {
      return ExpressionError(axis.column, absl::StrCat("the output can't have an unnamed axis of ",
                                                       axis.number, ": name it, or write 1"));
    }
    if (axis.kind != AxisKind::kName) continue;
    if (!known.contains(axis.text)) {
      return ExpressionError(axis.column, absl::StrCat("axis '", axis.text, "' is in no operand"));
    }
    if (!used.insert(axis.text).second) {
      return ExpressionError(axis.column, absl::StrCat("axis '", axis.text, "' appears twice"));
    }
  }
  return absl::OkStatus();
}

absl::Status ReadOutput(TokenReader& reader, EinsumPattern& pattern) {
  const Token arrow = reader.Take();
  if (arrow.kind != TokenKind::kArrow) {
    if (pattern.style == EinsumStyle::kNamed) {
      return ExpressionError(arrow.column, "'->' and the output's axes are missing");
    }
    pattern.output = ImplicitOutput(pattern.operands);
    return absl::OkStatus();
  }
  SEXTANT_ASSIGN_OR_RETURN(pattern.output, ParseTerm(reader, pattern.style));
  const Token end = reader.Take();
  if (end.kind != TokenKind::kEnd) {
    return ExpressionError(end.column, absl::StrCat("'", end.text,
                                                    "' after the output, which is "
                                                    "one tensor"));
  }
  return CheckOutput(pattern);
}

}  // namespace

EinsumStyle DetectEinsumStyle(const std::vector<Token>& tokens) {
  for (size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (IsOnlyNamed(tokens[i])) return EinsumStyle::kNamed;
    const bool apart =
        tokens[i].column + static_cast<int>(tokens[i].text.size()) < tokens[i + 1].column;
    if (apart && NamesAnAxis(tokens[i]) && NamesAnAxis(tokens[i + 1])) return EinsumStyle::kNamed;
  }
  return EinsumStyle::kLetters;
}

absl::StatusOr<EinsumPattern> ParseEinsum(TokenReader& reader, EinsumStyle style) {
  EinsumPattern pattern = {.style = style};
  do {
    const int column = reader.Peek().column;
    if (pattern.operands.size() == kMaxOperands) {
      return ExpressionError(
          column, absl::StrCat("operand ", kMaxOperands + 1, ": at most ", kMaxOperands));
    }
    SEXTANT_ASSIGN_OR_RETURN(AxisTerm operand, ParseTerm(reader, style));
    pattern.operands.push_back(std::move(operand));
  } while (reader.TakeIf(TokenKind::kComma));
  SEXTANT_RETURN_IF_ERROR(ReadOutput(reader, pattern));
  return pattern;
}

}  // namespace sextant
