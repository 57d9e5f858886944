// A model from the wire.
#ifndef SEXTANT_SERVER_CONVERT_MODEL_SPEC_H_
#define SEXTANT_SERVER_CONVERT_MODEL_SPEC_H_

#include "engine/base/field_violation.h"
#include "engine/model/model_spec.h"
#include "sextant/v1/model.pb.h"

namespace sextant::server {

// Converts `m`, whose field is "model". The result's texts are views: `m` outlives it. Appends to
// `violations` what is wrong with the message itself.
ModelSpec ModelSpecFrom(const v1::ModelSpec& m, FieldViolations& violations);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_MODEL_SPEC_H_
