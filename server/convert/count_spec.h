// A CountModelRequest as the engine's CountSpec: the model, its step and how it is cut over GPUs.
#ifndef SEXTANT_SERVER_CONVERT_COUNT_SPEC_H_
#define SEXTANT_SERVER_CONVERT_COUNT_SPEC_H_

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/model/count_model.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/model_count.pb.h"

namespace sextant::server {

// Converts `request`, which outlives the result. Appends to `violations` what is wrong with the
// message itself.
CountSpec CountSpecFrom(const v1::CountModelRequest& request, FieldViolations& violations);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_COUNT_SPEC_H_
