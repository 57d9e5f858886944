#include "client/plan_notes.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/format.h"
#include "client/rates_text.h"
#include "client/table.h"

namespace sextant {
std::string RatesSection(const v1::Plan& plan, absl::Time now) {
  return RatesText(plan.rates(), now);
}

std::string AssumptionsSection(const v1::Plan& plan) { return AssumptionsText(plan.assumptions()); }

std::string IgnoredFieldsSection(const google::protobuf::RepeatedPtrField<std::string>& fields) {
  if (fields.empty()) return "";
  return absl::StrCat(
      "\nFields of config.json that were not read: look them over\n",
      Wrap("  ", "A field that only its author's code reads could change a count.", 2),
      Wrap("  ", absl::StrJoin(fields, ", "), 2));
}

std::string DerivationSection(const v1::Plan& plan) {
  if (plan.derivation().empty()) return "";
  std::string out = "\nDerivation\n";
  for (const v1::DerivationStep& step : plan.derivation()) {
    const std::string source = step.source().empty() ? "" : absl::StrCat("  [", step.source(), "]");
    absl::StrAppend(&out, Wrap("  ", absl::StrCat(step.symbol(), " = ", step.formula()), 6),
                    Wrap("    = ", step.substitution(), 6),
                    Wrap("    = ", absl::StrCat(Plain(step.value()), " ", step.unit(), source), 6));
  }
  return out;
}

}  // namespace sextant
