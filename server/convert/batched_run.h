// A PlanRunRequest of a call that plans several runs.
#ifndef SEXTANT_SERVER_CONVERT_BATCHED_RUN_H_
#define SEXTANT_SERVER_CONVERT_BATCHED_RUN_H_

#include "engine/base/field_violation.h"
#include "engine/run/run_spec.h"
#include "server/convert/device_resolver.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

// RunSpecFrom(). Appends to `violations`, too, what only PlanRun answers: a FULL view, its parts,
// and an exhaustive search unless `may_exhaust`.
RunSpec BatchedRunFrom(const v1::PlanRunRequest& request, const DeviceResolver& resolver,
                       bool may_exhaust, FieldViolations& violations);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_BATCHED_RUN_H_
