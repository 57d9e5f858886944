// sextantd's answers without its server.
#ifndef SEXTANT_TESTS_VALIDATION_SERVICE_H_
#define SEXTANT_TESTS_VALIDATION_SERVICE_H_

#include "absl/status/statusor.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/hardware_service.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant {

// The answers of PlanningService.PlanRun, AccountingService.AnalyzeOperation and
// HardwareService.GetLinkTimes, by the code that makes them, on a host without devices.
//
// Errors: those of the calls.
absl::StatusOr<v1::PlanRunResponse> AskForPlan(const v1::PlanRunRequest& request);
absl::StatusOr<v1::AnalyzeOperationResponse> AskForOperation(
    const v1::AnalyzeOperationRequest& request);
absl::StatusOr<v1::GetLinkTimesResponse> AskForLinkTimes(const v1::GetLinkTimesRequest& request);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_SERVICE_H_
