#include "server/convert/batched_run.h"

#include <utility>

#include "server/convert/run_spec.h"

namespace sextant::server {
namespace {

// Reports what only a call of its own answers, and takes it out of `run`, so that nothing else
// advises how to get it here.
void CheckBatched(bool may_exhaust, RunSpec& run, FieldViolations& violations) {
  PlanOptions& options = run.options;
  if (options.full) {
    violations.Add(
        "options.view",
        "must be PLAN_VIEW_BASIC where several runs are planned, or left out: ask PlanRun for "
        "all of a run");
  }
  const std::pair<bool&, const char*> parts[] = {
      {options.include_derivation, "options.include_derivation"},
      {options.include_ledger, "options.include_ledger"},
      {options.include_operations, "options.include_operations"},
  };
  for (const auto& [included, field] : parts) {
    if (included) violations.Add(field, "is of one run: leave it out, or ask PlanRun");
    included = false;
  }
  options.full = false;
  if (options.search == SearchExtent::kExhaustive && !may_exhaust) {
    violations.Add("options.search",
                   "must be LAYOUT_SEARCH_BOUNDED at most where this many runs are planned: write "
                   "that, or ask PlanRun for this run");
  }
}

}  // namespace

RunSpec BatchedRunFrom(const v1::PlanRunRequest& request, const DeviceResolver& resolver,
                       bool may_exhaust, FieldViolations& violations) {
  RunSpec run = RunSpecFrom(request, resolver, violations);
  CheckBatched(may_exhaust, run, violations);
  return run;
}

}  // namespace sextant::server
