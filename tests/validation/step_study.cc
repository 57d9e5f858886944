#include "tests/validation/step_study.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"

namespace sextant {
namespace {

absl::StatusOr<StepCase> CaseOf(StepRow row, StepAsker& asker) {
  StepCase out;
  SEXTANT_RETURN_IF_ERROR(CloseRecomputation(row));
  LeaveOpen(row);
  SEXTANT_ASSIGN_OR_RETURN(out.predicted, asker.Ask(row, {}));
  SEXTANT_ASSIGN_OR_RETURN(out.baselines, StepBaselinesOf(row));
  out.row = std::move(row);
  return out;
}

}  // namespace

StepCases StepCasesOf(const std::vector<CsvRow>& table, StepAsker& asker, StepTask task) {
  StepRows rows = StepRowsOf(table, task);
  StepCases out = {.left_out = std::move(rows.left_out)};
  for (StepRow& row : rows.rows) {
    const StepLeftOut names = {.source = row.source, .id = row.id};
    absl::StatusOr<StepCase> answered = CaseOf(std::move(row), asker);
    if (answered.ok()) {
      out.cases.push_back(*std::move(answered));
      continue;
    }
    out.left_out.push_back(
        {names.source, names.id, absl::StrCat("refused: ", answered.status().message())});
  }
  return out;
}

StepGroup Where(const std::vector<StepCase>& cases,
                const std::function<bool(const StepCase&)>& which) {
  StepGroup out;
  for (const StepCase& each : cases) {
    if (which(each)) out.push_back(&each);
  }
  return out;
}

std::map<std::string, StepGroup> GroupsBy(const StepGroup& group,
                                          const std::function<std::string(const StepCase&)>& name) {
  std::map<std::string, StepGroup> out;
  for (const StepCase* each : group) out[name(*each)].push_back(each);
  return out;
}

}  // namespace sextant
