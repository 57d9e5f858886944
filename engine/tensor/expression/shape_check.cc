#include "engine/tensor/expression/shape_check.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

using Kind = DeclaredAxis::Kind;

bool IsVariable(const DeclaredAxis& axis) {
  return axis.kind == Kind::kSeveral || axis.kind == Kind::kEllipsis;
}

// The name that "*" or "#" stands before.
absl::StatusOr<DeclaredAxis> PrefixedAxis(TokenReader& reader, const Token& prefix, Kind kind) {
  const Token name = reader.Take();
  if (name.kind != TokenKind::kName) {
    return ExpressionError(prefix.column, absl::StrCat("'", prefix.text, "' stands before a name"));
  }
  return DeclaredAxis{.kind = kind, .name = name.text, .column = prefix.column};
}

absl::StatusOr<DeclaredAxis> NextAxis(TokenReader& reader) {
  const Token token = reader.Take();
  switch (token.kind) {
    case TokenKind::kName:
      if (token.text == "_") return DeclaredAxis{.kind = Kind::kAny, .column = token.column};
      return DeclaredAxis{.kind = Kind::kName, .name = token.text, .column = token.column};
    case TokenKind::kNumber:
      return DeclaredAxis{.kind = Kind::kNumber, .number = token.number, .column = token.column};
    case TokenKind::kEllipsis:
      return DeclaredAxis{.kind = Kind::kEllipsis, .column = token.column};
    case TokenKind::kStar:
      return PrefixedAxis(reader, token, Kind::kSeveral);
    case TokenKind::kHash:
      return PrefixedAxis(reader, token, Kind::kStretch);
    default:
      return ExpressionError(token.column, absl::StrCat("'", token.text,
                                                        "' names no axis: write "
                                                        "a name, a size, _, ..., *name or #name"));
  }
}

class Matcher {
 public:
  explicit Matcher(ShapeBindings bindings) { check_.bindings = std::move(bindings); }

  ShapeCheck Match(absl::Span<const DeclaredAxis> axes, absl::Span<const int64_t> shape) && {
    const bool is_open = std::any_of(axes.begin(), axes.end(), IsVariable);
    const size_t declared = axes.size() - (is_open ? 1 : 0);
    if (is_open ? shape.size() < declared : shape.size() != declared) {
      Mismatch(absl::StrCat(is_open ? "at least " : "", declared, " axes declared, the tensor has ",
                            shape.size()));
      return std::move(check_);
    }
    size_t at = 0;
    for (const DeclaredAxis& axis : axes) {
      if (IsVariable(axis)) {
        const size_t count = shape.size() - declared;
        if (axis.kind == Kind::kSeveral) BindSeveral(axis.name, shape.subspan(at, count));
        at += count;
      } else {
        MatchOne(axis, shape[at], at);
        ++at;
      }
    }
    check_.matches = check_.mismatches.empty();
    return std::move(check_);
  }

 private:
  void Mismatch(std::string what) { check_.mismatches.push_back(std::move(what)); }

  void MatchOne(const DeclaredAxis& axis, int64_t size, size_t at) {
    if (axis.kind == Kind::kNumber && axis.number != size) {
      Mismatch(absl::StrCat("axis ", at, " has to be ", axis.number, ", and is ", size));
    }
    // A stretched axis of size 1 says nothing of the name's size.
    if (axis.kind == Kind::kName || (axis.kind == Kind::kStretch && size != 1)) {
      Bind(axis.name, size);
    }
  }

  void Bind(absl::string_view name, int64_t size) {
    for (const AxisSize& bound : check_.bindings.sizes) {
      if (bound.name != name) continue;
      if (bound.size != size) {
        Mismatch(absl::StrCat("'", name, "' is bound to ", bound.size, " and to ", size));
      }
      return;
    }
    check_.bindings.sizes.push_back({std::string(name), size});
  }

  void BindSeveral(absl::string_view name, absl::Span<const int64_t> sizes) {
    for (const ShapeBindings::Several& bound : check_.bindings.several) {
      if (bound.name != name) continue;
      if (absl::MakeConstSpan(bound.sizes) != sizes) {
        Mismatch(absl::StrCat("'*", name, "' is bound to ", ShapeText(bound.sizes), " and to ",
                              ShapeText(sizes)));
      }
      return;
    }
    check_.bindings.several.push_back({std::string(name), Shape(sizes.begin(), sizes.end())});
  }

  ShapeCheck check_;
};

}  // namespace

absl::StatusOr<std::vector<DeclaredAxis>> ParseDeclaredAxes(TokenReader& reader) {
  std::vector<DeclaredAxis> axes;
  bool is_open = false;
  while (reader.Peek().kind != TokenKind::kEnd) {
    SEXTANT_ASSIGN_OR_RETURN(const DeclaredAxis axis, NextAxis(reader));
    if (IsVariable(axis) && is_open) {
      return ExpressionError(axis.column,
                             "a second '...' or '*name': which axes it stands for "
                             "can't be known");
    }
    is_open = is_open || IsVariable(axis);
    if (axes.size() == kMaxAxes) {
      return ExpressionError(axis.column, absl::StrCat("more than ", kMaxAxes, " axes"));
    }
    axes.push_back(axis);
  }
  return axes;
}

absl::StatusOr<ShapeCheck> CheckDeclaredShape(absl::string_view expression,
                                              absl::Span<const int64_t> shape,
                                              ShapeBindings bindings) {
  SEXTANT_ASSIGN_OR_RETURN(std::vector<Token> tokens, Tokenise(expression));
  TokenReader reader(std::move(tokens));
  SEXTANT_ASSIGN_OR_RETURN(const std::vector<DeclaredAxis> axes, ParseDeclaredAxes(reader));
  FieldViolations violations;
  CheckShape(shape, "shape", violations);
  if (!violations.empty()) return violations.ToStatus();
  return Matcher(std::move(bindings)).Match(axes, shape);
}

}  // namespace sextant
