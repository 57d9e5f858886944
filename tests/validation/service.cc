#include "tests/validation/service.h"

#include <memory>
#include <utility>

#include "engine/base/status_macros.h"
#include "engine/run/plan.h"
#include "server/convert/plan.h"
#include "server/convert/run_spec.h"
#include "server/handler/link_times_answer.h"
#include "server/handler/operation_answer.h"

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

absl::StatusOr<v1::AnalyzeOperationResponse> AskForOperation(
    const v1::AnalyzeOperationRequest& request) {
  server::AccountingOptions options;
  options.supplied = &Supplied();
  options.calibrations = [] { return Host(); };
  options.now = [] { return absl::UnixEpoch(); };
  v1::AnalyzeOperationResponse out;
  CallWork work;
  SEXTANT_RETURN_IF_ERROR(server::AnswerOperation(request, options, work, &out));
  return out;
}

absl::StatusOr<v1::GetLinkTimesResponse> AskForLinkTimes(const v1::GetLinkTimesRequest& request) {
  v1::GetLinkTimesResponse out;
  SEXTANT_RETURN_IF_ERROR(
      server::AnswerLinkTimes(request, {.supplied = Supplied(), .host = *Host()}, &out));
  return out;
}

}  // namespace sextant
