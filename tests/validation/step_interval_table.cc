// How often the answers' intervals hold.
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/validation/step_table_parts.h"
#include "tests/validation/step_tables.h"

namespace sextant {
namespace {

// Of a step that one measured step corrects: docs/step_time.md, "A measured step".
constexpr double kMeasuredEnd = 0.07;

using Covers = std::function<absl::optional<bool>(const StepCase&)>;

Covers CoversIn(const std::map<const StepCase*, StepPrediction>& predictions) {
  return [&predictions](const StepCase& each) -> absl::optional<bool> {
    const auto found = predictions.find(&each);
    if (found == predictions.end()) return absl::nullopt;
    return found->second.Covers(each.row.measured);
  };
}

// Percent; "" of none.
std::string CoverageOf(const StepGroup& group, const Covers& covers) {
  double count = 0;
  double covered = 0;
  for (const StepCase* each : group) {
    const absl::optional<bool> holds = covers(*each);
    if (!holds.has_value()) continue;
    ++count;
    covered += *holds ? 1 : 0;
  }
  return count == 0 ? "" : Whole(covered / count);
}

void AddLine(const StepRowsOfLine& rows, const StepBand& band, const Covers& in_sight,
             const Covers& left_out, std::string& out) {
  absl::StrAppendFormat(&out, "| %s | %d | %d | %+.3f | %+.3f | %s | %s |\n", rows.name, band.rows,
                        band.families, band.low, band.high, CoverageOf(rows.group, in_sight),
                        CoverageOf(rows.group, left_out));
}

}  // namespace

std::string BandTable(const StepResults& results) {
  std::string out =
      "| class | rows | families | 10th | 90th | the answers' intervals cover, in sight % | family "
      "left out % |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  const std::vector<StepCase>& cases = results.rows.cases;
  const Covers in_sight = [](const StepCase& each) -> absl::optional<bool> {
    return each.predicted.Covers(each.row.measured);
  };
  const auto add = [&](const StepRowsOfLine& rows) {
    AddLine(rows, BandOf(rows.group, ErrorIn(results.folds.left_out)), in_sight,
            CoversIn(results.folds.left_out), out);
  };
  for (const StepRowsOfLine& rows : LinesOfSummary(cases)) add(rows);
  add({"dense, left open in the request", Where(cases, [](const StepCase& each) {
         return !each.row.experts && each.row.left_open.has_value();
       })});
  const StepRowsOfLine dense = {
      "unknown stack, dense", Where(cases, [](const StepCase& each) { return !each.row.experts; })};
  const Covers none = [](const StepCase&) { return absl::optional<bool>(); };
  AddLine(dense, BandOf(dense.group, ErrorIn(results.generic)), CoversIn(results.generic), none,
          out);
  const Covers near = [&results](const StepCase& each) -> absl::optional<bool> {
    const auto found = results.near_step.find(&each);
    if (found == results.near_step.end()) return absl::nullopt;
    return std::abs(each.row.measured / found->second - 1) <= kMeasuredEnd;
  };
  AddLine({"unknown stack, dense, one measured step", dense.group},
          BandOf(dense.group, ErrorIn(results.near_step)), near, none, out);
  return out;
}

}  // namespace sextant
