// Whether predictions put layouts in order, and how far they could.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "tests/validation/step_sweeps.h"
#include "tests/validation/step_table_parts.h"
#include "tests/validation/step_tables.h"

namespace sextant {
namespace {

constexpr double kLowRank = 0.85;  // sweeps below it are listed

double MedianOf(const std::vector<StepSweep>& sweeps, double StepSweep::*field) {
  std::vector<WeightedValue> values;
  for (const StepSweep& sweep : sweeps) values.push_back({sweep.*field, 1});
  return WeightedQuantile(std::move(values), 0.5);
}

std::string LineOf(const std::string& source, const std::vector<StepSweep>& sweeps) {
  size_t rows = 0;
  double ties = 0;
  double of_three = 0;
  double lowest = 1;
  double most = 0;
  for (const StepSweep& sweep : sweeps) {
    ties += sweep.best_ties ? 1 : 0;
    of_three += sweep.best_of_three ? 1 : 0;
    lowest = std::min(lowest, sweep.spearman);
    most = std::max(most, sweep.cost);
    rows += sweep.rows;
  }
  const auto count = static_cast<double>(sweeps.size());
  return absl::StrFormat("| %s | %d | %d | %.2f | %.2f | %.2f | %s | %s | %s | %s |\n", source,
                         sweeps.size(), rows, MedianOf(sweeps, &StepSweep::spearman), lowest,
                         MedianOf(sweeps, &StepSweep::reachable),
                         Share(MedianOf(sweeps, &StepSweep::cost)), Share(most),
                         Whole(ties / count), Whole(of_three / count));
}

}  // namespace

std::string SweepTable(const StepResults& results) {
  std::string out =
      "| source, framework | sweeps | rows | Spearman, median | lowest | of a perfect model | cost "
      "of the first, median % | most % | fastest is a tie % | of the first three % |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  std::map<std::string, std::vector<StepSweep>> by_source;
  for (StepSweep& sweep : SweepsOf(results.rows.cases)) {
    by_source["all"].push_back(sweep);
    by_source[absl::StrCat(sweep.source, ", ", sweep.framework)].push_back(std::move(sweep));
  }
  for (const auto& [source, sweeps] : by_source) absl::StrAppend(&out, LineOf(source, sweeps));
  return out;
}

std::string LowSweepTable(const StepResults& results) {
  std::string out =
      "| sweep | rows | slowest over fastest, less 1 % | Spearman | of a perfect model | spread of "
      "errors % | of repeats % | of frameworks % | the rest % |\n"
      "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const StepSweep& sweep : SweepsOf(results.rows.cases)) {
    if (sweep.spearman >= kLowRank) continue;
    absl::StrAppendFormat(&out, "| %s | %d | %s | %.2f | %.2f | %s | %s | %s | %s |\n",
                          absl::StrReplaceAll(sweep.name, {{" | ", ", "}}), sweep.rows,
                          Whole(sweep.spread), sweep.spearman, sweep.reachable,
                          Share(sweep.error_spread), Share(sweep.noise),
                          Share(sweep.framework_spread), Share(sweep.rest_spread));
  }
  return out;
}

}  // namespace sextant
