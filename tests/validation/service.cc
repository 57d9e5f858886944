#include "tests/validation/service.h"

#include <utility>

#include "engine/base/status_macros.h"
#include "engine/run/plan.h"
#include "server/convert/plan.h"
#include "server/convert/run_spec.h"

namespace sextant {

absl::StatusOr<v1::PlanRunResponse> AskForPlan(const v1::PlanRunRequest& request) {
  static auto* const supplied = new server::SuppliedCalibrations();
  static const auto* const host = new server::CalibrationSnapshot();
  FieldViolations violations;
  const RunSpec run =
      server::RunSpecFrom(request, {.supplied = *supplied, .host = *host}, violations);
  SEXTANT_ASSIGN_OR_RETURN(Plan plan, PlanRun(run, std::move(violations)));
  v1::PlanRunResponse out;
  server::PlanTo(std::move(plan), run.options.full, out.mutable_plan());
  return out;
}

}  // namespace sextant
