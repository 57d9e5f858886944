// A figure of the hardware, to the wire, and what a request demands of such figures.
#ifndef SEXTANT_SERVER_CONVERT_RATES_H_
#define SEXTANT_SERVER_CONVERT_RATES_H_

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/hardware/rates.h"
#include "engine/run/run_spec.h"
#include "sextant/v1/rates.pb.h"

namespace sextant {

// Fills `out`, which is empty. The rate's citation moves into it.
void RateTo(Rate rate, v1::RateUsed* out);

// What rates have to be, at `path` of a request.
RateRequirement RateRequirementFrom(const v1::RateRequirement& wire, absl::string_view path,
                                    FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_RATES_H_
