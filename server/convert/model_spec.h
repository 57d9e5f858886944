// A model from the wire.
#ifndef SEXTANT_SERVER_CONVERT_MODEL_SPEC_H_
#define SEXTANT_SERVER_CONVERT_MODEL_SPEC_H_

#include "engine/base/field_violation.h"
#include "engine/model/model_spec.h"
#include "sextant/v1/model.pb.h"

namespace sextant {

// `m`, whose field is "model". Its texts are views: `m` outlives the result. What is wrong with
// the message itself is appended to `violations`.
ModelSpec ModelSpecFrom(const v1::ModelSpec& m, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_MODEL_SPEC_H_
