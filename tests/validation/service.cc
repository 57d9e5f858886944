#include "tests/validation/service.h"

#include <memory>
#include <utility>

#include "engine/base/status_macros.h"
#include "engine/run/plan.h"
#include "server/convert/plan.h"
#include "server/convert/run_spec.h"

namespace sextant {
namespace {

server::SuppliedCalibrations& Supplied() {
  static auto* const supplied = new server::SuppliedCalibrations();
  return *supplied;
}

// A host without devices.
const std::shared_ptr<const server::CalibrationSnapshot>& Host() {
  static const auto* const host = new std::shared_ptr<const server::CalibrationSnapshot>(
      std::make_shared<const server::CalibrationSnapshot>());
  return *host;
}

}  // namespace

absl::StatusOr<v1::PlanRunResponse> AskForPlan(const v1::PlanRunRequest& request) {
  FieldViolations violations;
  const RunSpec run =
      server::RunSpecFrom(request, {.supplied = Supplied(), .host = *Host()}, violations);
  SEXTANT_ASSIGN_OR_RETURN(Plan plan, PlanRun(run, std::move(violations)));
  v1::PlanRunResponse out;
  server::PlanTo(std::move(plan), run.options.full, out.mutable_plan());
  return out;
}

}  // namespace sextant
