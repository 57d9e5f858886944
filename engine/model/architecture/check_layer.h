// What a kind of layer must be to make sense.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_CHECK_LAYER_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_CHECK_LAYER_H_

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/layer_spec.h"

namespace sextant {

// Appends to `violations` all that is wrong with `layer`, under paths that start with `path`
// (e.g. "model.layer_kinds[0]").
void CheckLayer(const LayerSpec& layer, absl::string_view path, FieldViolations& violations);

// The same for an attention; `cross` if it is over the encoder's output.
void CheckAttention(const AttentionSpec& attention, bool cross, absl::string_view path,
                    FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_CHECK_LAYER_H_
