// Numbers that show how they are computed, and the steps of a derivation that they make.
#ifndef SEXTANT_ENGINE_BASE_TERM_H_
#define SEXTANT_ENGINE_BASE_TERM_H_

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/units.h"

namespace sextant {

// A number and how it is computed: in names, "flops / (device_count x mfu)", and in figures,
// "6e+20 / (8 * 0.4)", which evaluates to it.
class Term {
 public:
  Term(double constant);  // NOLINT(google-explicit-constructor): 3600 in a formula
  Term(absl::string_view name, double value);
  Term(absl::string_view name, int64_t value);
  template <typename Tag, typename Rep>
  Term(absl::string_view name, Quantity<Tag, Rep> value) : Term(name, value.value()) {}

  double value() const { return value_; }
  const std::string& formula() const { return formula_; }
  const std::string& figures() const { return figures_; }

  // The same with `formula` in words, or shorter.
  Term As(absl::string_view formula) const;
  // The same with the plan's figure, which rounds otherwise than this: exact integers, and products
  // in another order.
  Term Is(double value) const;
  Term Is(int64_t value) const { return Is(static_cast<double>(value)); }
  template <typename Tag, typename Rep>
  Term Is(Quantity<Tag, Rep> value) const {
    return Is(value.value());
  }

  friend Term operator+(const Term& a, const Term& b) { return Of(a, '+', b); }
  friend Term operator-(const Term& a, const Term& b) { return Of(a, '-', b); }
  friend Term operator*(const Term& a, const Term& b) { return Of(a, '*', b); }
  friend Term operator/(const Term& a, const Term& b) { return Of(a, '/', b); }
  friend Term sqrt(const Term& x) { return Of("sqrt", x, std::sqrt(x.value_)); }
  friend Term exp(const Term& x) { return Of("exp", x, std::exp(x.value_)); }
  friend Term expm1(const Term& x) { return Of("expm1", x, std::expm1(x.value_)); }
  friend Term floor(const Term& x) { return Of("floor", x, std::floor(x.value_)); }
  friend Term ceil(const Term& x) { return Of("ceil", x, std::ceil(x.value_)); }

 private:
  friend class TermSum;
  enum class Binding { kSum, kProduct, kWhole };  // the last operator; kWhole: none

  Term(double value, std::string formula, std::string figures, Binding binding);
  static Term Of(const Term& a, char sign, const Term& b);
  static Term Of(absl::string_view function, const Term& x, double value);

  double value_;
  std::string formula_;
  std::string figures_;
  Binding formula_binding_ = Binding::kWhole;
  Binding figures_binding_ = Binding::kWhole;
};

// A sum of any number of terms, whose formula is in words.
class TermSum {
 public:
  explicit TermSum(absl::string_view formula) : formula_(formula) {}
  void Add(const Term& term);
  Term sum() const;  // "0" of none

 private:
  absl::string_view formula_;
  std::string figures_;
  double value_ = 0;
};

// A number of a plan, derived.
struct DerivationStep {
  std::string symbol;        // "estimates.lower_bound.duration_seconds.expected"
  std::string formula;       // in symbols
  std::string substitution;  // the formula with its numbers: evaluates to `value`
  double value = 0;
  absl::string_view unit;
  std::string source;
};

// Collects steps. Derive from it.
class DerivationSteps {
 protected:
  // Further steps are of `group` and from `source`, unless they name another one.
  void Begin(absl::string_view group, absl::string_view source) {
    group_ = std::string(group);
    source_ = std::string(source);
  }
  void Add(absl::string_view symbol, const Term& term, absl::string_view unit) {
    Add(symbol, term, unit, source_);
  }
  void Add(absl::string_view symbol, const Term& term, absl::string_view unit,
           absl::string_view source);
  // Adds a number that no formula gives, where there is one.
  template <typename Number, typename... Source>
  void AddGiven(absl::string_view symbol, const absl::optional<Number>& value,
                absl::string_view unit, Source... source) {
    if (value.has_value()) Add(symbol, {"given", *value}, unit, source...);
  }

  std::vector<DerivationStep> steps_;

 private:
  std::string group_;
  std::string source_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_BASE_TERM_H_
