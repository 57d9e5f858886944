// sextantd's answers without its server.
#ifndef SEXTANT_TESTS_VALIDATION_SERVICE_H_
#define SEXTANT_TESTS_VALIDATION_SERVICE_H_

#include "absl/status/statusor.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant {

// The answer of PlanningService.PlanRun, by the code that makes it, on a host without devices.
//
// Errors: those of the call.
absl::StatusOr<v1::PlanRunResponse> AskForPlan(const v1::PlanRunRequest& request);

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_SERVICE_H_
