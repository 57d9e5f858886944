// Validates architectures, field by field.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_CHECK_ARCHITECTURE_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_CHECK_ARCHITECTURE_H_

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

// Appends all errors of `spec` to `violations`, under paths that start with `path` (e.g. "model").
// Adapters are checked only if the rest is valid.
void CheckArchitecture(const ArchitectureSpec& spec, absl::string_view path,
                       FieldViolations& violations);

// The same for one kind of layer (e.g. "model.layer_kinds[0]").
void CheckLayer(const LayerSpec& layer, absl::string_view path, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_CHECK_ARCHITECTURE_H_
