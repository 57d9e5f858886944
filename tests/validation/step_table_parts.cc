#include "tests/validation/step_table_parts.h"

#include "absl/strings/str_format.h"

namespace sextant {

std::string Share(double share) { return absl::StrFormat("%.1f", 100 * share); }
std::string Signed(double share) { return absl::StrFormat("%+.1f", 100 * share); }
std::string Whole(double share) { return absl::StrFormat("%.0f", 100 * share); }

absl::optional<double> InSight(const StepCase& each) { return each.Error(); }

StepError ErrorIn(const std::map<const StepCase*, StepPrediction>& predictions) {
  return [&predictions](const StepCase& each) -> absl::optional<double> {
    const auto found = predictions.find(&each);
    if (found == predictions.end()) return absl::nullopt;
    return found->second.ErrorOf(each.row.measured);
  };
}

StepError ErrorIn(const std::map<const StepCase*, double>& seconds) {
  return [&seconds](const StepCase& each) -> absl::optional<double> {
    const auto found = seconds.find(&each);
    if (found == seconds.end()) return absl::nullopt;
    return found->second / each.row.measured - 1;
  };
}

std::vector<StepRowsOfLine> LinesOfSummary(const std::vector<StepCase>& cases) {
  const auto dense = [](const StepCase& each) { return !each.row.experts; };
  const auto closed = [](const StepCase& each) {
    return !each.row.experts && each.row.open.empty();
  };
  std::vector<StepRowsOfLine> out = {{"dense, nothing open", Where(cases, closed)},
                                     {"dense, all", Where(cases, dense)}};
  for (const StepClass one :
       {StepClass::kWide, StepClass::kNarrow, StepClass::kOpen, StepClass::kExperts}) {
    out.push_back({ClassName(one), Where(cases, [one](const StepCase& each) {
                     return each.row.step_class() == one;
                   })});
  }
  return out;
}

}  // namespace sextant
