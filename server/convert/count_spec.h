// What to count of a model, from the wire.
#ifndef SEXTANT_SERVER_CONVERT_COUNT_SPEC_H_
#define SEXTANT_SERVER_CONVERT_COUNT_SPEC_H_

#include "engine/base/field_violation.h"
#include "engine/model/count_model.h"
#include "sextant/v1/accounting_service.pb.h"

namespace sextant {

// `request`, which outlives the result. What is wrong with the message itself is appended to
// `violations`.
CountSpec CountSpecFrom(const v1::CountModelRequest& request, FieldViolations& violations);

// NONE where it is unspecified.
RecomputePolicy RecomputePolicyFrom(v1::RecomputePolicy wire, absl::string_view field,
                                    FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_COUNT_SPEC_H_
