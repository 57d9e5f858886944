// A PlanRunRequest as the engine's RunSpec.
#ifndef SEXTANT_SERVER_CONVERT_RUN_SPEC_H_
#define SEXTANT_SERVER_CONVERT_RUN_SPEC_H_

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/run/run_spec.h"
#include "server/convert/device_resolver.h"
#include "sextant/v1/layout.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::server {

// Appends the numbers of `request` that its fields' options refuse to `violations`.
void CheckPlanNumbers(const v1::PlanRunRequest& request, FieldViolations& violations);

// The devices of a request, `cluster`, and its `economics`. `maximum_age_seconds` is the request's
// limit for measurements of the host's devices.
ClusterSpec ClusterFrom(const v1::ClusterSpec& m, const DeviceResolver& resolver,
                        absl::optional<double> maximum_age_seconds, FieldViolations& violations);
EconomicsSpec EconomicsFrom(const v1::EconomicsSpec& m, FieldViolations& violations);

// True where `request` says nothing of a search and leaves the layout open:
// LAYOUT_SEARCH_UNSPECIFIED.
bool SearchesByDefault(const v1::PlanRunRequest& request);

// Converts `request`; the result's texts point into it and into what `resolver` reads. Appends to
// `violations` what only the wire can get wrong: enum numbers out of range, devices as `resolver`
// says, and a config.json that can't be read. CheckPlanNumbers() is called before.
RunSpec RunSpecFrom(const v1::PlanRunRequest& request, const DeviceResolver& resolver,
                    FieldViolations& violations);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_RUN_SPEC_H_
