// A PlanRunRequest as the engine's RunSpec.
#ifndef SEXTANT_SERVER_CONVERT_RUN_SPEC_H_
#define SEXTANT_SERVER_CONVERT_RUN_SPEC_H_

#include "engine/base/field_violation.h"
#include "engine/run/run_spec.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant {

// The run that `request` describes, without this host's devices (NamedDevicesFrom()); its texts
// point into `request`. Appends to `violations` what only the wire can get wrong: enum numbers
// out of range, optional sizes that are present but zero, calibrations that make no sense and a
// config.json that can't be read.
RunSpec RunSpecFrom(const v1::PlanRunRequest& request, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_RUN_SPEC_H_
