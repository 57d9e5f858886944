// Rates of the hardware to the wire, and a request's requirements on them.
#ifndef SEXTANT_SERVER_CONVERT_RATES_H_
#define SEXTANT_SERVER_CONVERT_RATES_H_

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/device_selection.h"
#include "engine/hardware/rates.h"
#include "engine/run/run_spec.h"
#include "server/convert/notes.h"
#include "sextant/v1/plan.pb.h"
#include "sextant/v1/rates.pb.h"

namespace sextant::server {

// Fills `out`, which is empty; `sources` numbers the rate's citation.
void RateTo(const Rate& rate, SourceNumbers& sources, v1::RateUsed* out);

// Fills `out`, which is empty.
void FleetTo(const FleetRates& fleet, v1::FleetCoverage* out);

// Converts the rate requirements at `path` of a request.
RateRequirement RateRequirementFrom(const v1::RateRequirement& wire, absl::string_view path,
                                    FieldViolations& violations);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_RATES_H_
