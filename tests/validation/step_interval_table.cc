// How often the answers' intervals hold.
#include <cmath>
#include <functional>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/validation/step_table_parts.h"
#include "tests/validation/step_tables.h"
#include "tests/validation/step_transfer.h"

namespace sextant {
namespace {

// The interval of a case; null where it has none.
using Interval = std::function<const StepPrediction*(const StepCase&)>;

const StepPrediction* AnswerOf(const StepCase& each) { return &each.predicted; }

Interval IntervalIn(const std::map<const StepCase*, StepPrediction>& predictions) {
  return [&predictions](const StepCase& each) -> const StepPrediction* {
    const auto found = predictions.find(&each);
    return found == predictions.end() ? nullptr : &found->second;
  };
}

// Percent.
std::string CoverageOf(const StepGroup& group, const Interval& interval) {
  double count = 0;
  double covered = 0;
  for (const StepCase* each : group) {
    const StepPrediction* const one = interval(*each);
    if (one == nullptr) continue;
    ++count;
    covered += one->Covers(each->row.measured) ? 1 : 0;
  }
  return count == 0 ? "" : Whole(covered / count);
}

// The 10th and the 90th percentile of the rows' positions in their intervals.
std::string PositionsOf(const StepGroup& group, const Interval& interval) {
  std::vector<WeightedValue> positions;
  for (const auto& [family, rows] :
       GroupsBy(group, [](const StepCase& each) { return each.row.family; })) {
    const double weight = 1 / std::sqrt(static_cast<double>(rows.size()));
    for (const StepCase* each : rows) {
      const StepPrediction* const one = interval(*each);
      if (one != nullptr) positions.push_back({one->PositionOf(each->row.measured), weight});
    }
  }
  return absl::StrFormat("%+.2f | %+.2f", WeightedQuantile(positions, 0.1),
                         WeightedQuantile(positions, 0.9));
}

void AddLine(const StepRowsOfLine& rows, const StepBand& band, const std::string& coverage,
             std::string& out) {
  absl::StrAppendFormat(&out, "| %s | %d | %d | %+.3f | %+.3f | %s |\n", rows.name, band.rows,
                        band.families, band.low, band.high, coverage);
}

}  // namespace

std::string BandTable(const StepResults& results) {
  std::string out =
      "| class | rows | families | 10th | 90th | covered in sight % | family left out % | 10th, "
      "end "
      "at -1 | 90th, end at 1 |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  const std::vector<StepCase>& cases = results.rows.cases;
  const auto add = [&](const StepRowsOfLine& rows) {
    const Interval left_out = IntervalIn(results.folds.left_out);
    AddLine(rows, BandOf(rows.group, ErrorIn(results.folds.left_out)),
            absl::StrCat(CoverageOf(rows.group, AnswerOf), " | ", CoverageOf(rows.group, left_out),
                         " | ", PositionsOf(rows.group, left_out)),
            out);
  };
  for (const StepRowsOfLine& rows : LinesOfSummary(cases)) add(rows);
  add({"dense, left open in the request", Where(cases, [](const StepCase& each) {
         return !each.row.experts && each.row.left_open.has_value();
       })});
  const StepRowsOfLine dense = {
      "unknown stack, dense", Where(cases, [](const StepCase& each) { return !each.row.experts; })};
  const Interval generic = IntervalIn(results.generic);
  AddLine(
      dense, BandOf(dense.group, ErrorIn(results.generic)),
      absl::StrCat(CoverageOf(dense.group, generic), " | | ", PositionsOf(dense.group, generic)),
      out);
  std::map<const StepCase*, StepPrediction> measured;
  for (const auto& [each, seconds] : results.near_step) {
    measured[each] = {.expected = seconds,
                      .low = seconds * (1 - kMeasuredEnd),
                      .high = seconds * (1 + kMeasuredEnd),
                      .centre = seconds};
  }
  const Interval near = IntervalIn(measured);
  AddLine({"unknown stack, dense, one measured step", dense.group},
          BandOf(dense.group, ErrorIn(results.near_step)),
          absl::StrCat(CoverageOf(dense.group, near), " | | ", PositionsOf(dense.group, near)),
          out);
  return out;
}

}  // namespace sextant
