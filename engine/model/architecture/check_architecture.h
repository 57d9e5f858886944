// What an architecture must be to make sense.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_CHECK_ARCHITECTURE_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_CHECK_ARCHITECTURE_H_

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

// Appends to `violations` all that is wrong with `spec`, under paths that start with `path`
// (e.g. "model"). Adapters are looked at once the rest makes sense.
void CheckArchitecture(const ArchitectureSpec& spec, absl::string_view path,
                       FieldViolations& violations);

// The same for its encoder and decoder, given that every kind of layer makes sense by itself.
void CheckStacks(const ArchitectureSpec& spec, absl::string_view path, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_CHECK_ARCHITECTURE_H_
