#include "engine/base/term.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/text.h"

namespace sextant {
namespace {

std::string Enclosed(const std::string& text, bool enclose) {
  return enclose ? absl::StrCat("(", text, ")") : text;
}

double ValueOf(double a, char sign, double b) {
  if (sign == '+') return a + b;
  if (sign == '-') return a - b;
  return sign == '*' ? a * b : a / b;
}

}  // namespace

Term::Term(double value, std::string formula, std::string figures, Binding binding)
    : value_(value),
      formula_(std::move(formula)),
      figures_(std::move(figures)),
      formula_binding_(binding),
      figures_binding_(binding) {}

Term::Term(double constant) : Term(NumberText(constant), constant) {}

Term::Term(absl::string_view name, double value)
    : Term(value, std::string(name), NumberText(value), Binding::kWhole) {}

Term::Term(absl::string_view name, int64_t value)
    : Term(static_cast<double>(value), std::string(name), absl::StrCat(value), Binding::kWhole) {}

Term Term::As(absl::string_view formula) const {
  Term out = *this;
  out.formula_ = std::string(formula);
  out.formula_binding_ = Binding::kWhole;
  return out;
}

Term Term::Is(double value) const {
  Term out = *this;
  out.value_ = value;
  return out;
}

// Factors and summands in any order have one text, without parentheses.
Term Term::Of(const Term& a, char sign, const Term& b) {
  const bool product = sign == '*' || sign == '/';
  const auto joined = [&](const std::string& left, Binding of_left, const std::string& right,
                          Binding of_right, char shown) {
    const bool enclose_right = (sign != '+' && of_right == Binding::kSum) ||
                               (sign == '/' && of_right == Binding::kProduct);
    return absl::StrCat(Enclosed(left, product && of_left == Binding::kSum), " ",
                        std::string(1, shown), " ", Enclosed(right, enclose_right));
  };
  return Term(ValueOf(a.value_, sign, b.value_),
              joined(a.formula_, a.formula_binding_, b.formula_, b.formula_binding_,
                     sign == '*' ? 'x' : sign),
              joined(a.figures_, a.figures_binding_, b.figures_, b.figures_binding_, sign),
              product ? Binding::kProduct : Binding::kSum);
}

Term Term::Of(absl::string_view function, const Term& x, double value) {
  return Term(value, absl::StrCat(function, "(", x.formula_, ")"),
              absl::StrCat(function, "(", x.figures_, ")"), Binding::kWhole);
}

void TermSum::Add(const Term& term) {
  absl::StrAppend(&figures_, figures_.empty() ? "" : " + ", term.figures());
  value_ += term.value();
}

Term TermSum::sum() const {
  return Term(value_, std::string(formula_), figures_.empty() ? "0" : figures_,
              Term::Binding::kWhole);
}

void DerivationSteps::Add(absl::string_view symbol, const Term& term, absl::string_view unit,
                          absl::string_view source) {
  steps_.push_back({absl::StrCat(group_, symbol), term.formula(), term.figures(), term.value(),
                    unit, std::string(source)});
}

}  // namespace sextant
