// A PlanRunRequest as the engine's RunSpec, its layout as the engine's RunLayout.
#ifndef SEXTANT_SERVER_CONVERT_RUN_SPEC_H_
#define SEXTANT_SERVER_CONVERT_RUN_SPEC_H_

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/run/run_spec.h"
#include "server/store/supplied_calibrations.h"
#include "sextant/v1/layout.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

// `layout`, which stands at `path`. What only the wire can get wrong is appended to `violations`:
// enum numbers out of range, and optional sizes that are present but zero.
RunLayout RunLayoutFrom(const v1::RunLayout& layout, absl::string_view path,
                        FieldViolations& violations);

// Converts `request` without this host's devices (NamedDevicesFrom()); the result's texts point
// into `request`. Appends to `violations` what only the wire can get wrong: enum numbers out of
// range, optional sizes that are present but zero, calibrations that make no sense and a
// config.json that can't be read. Calibrations are read by `supplied`.
RunSpec RunSpecFrom(const v1::PlanRunRequest& request, SuppliedCalibrations& supplied,
                    FieldViolations& violations);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_RUN_SPEC_H_
