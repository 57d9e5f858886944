// Public models by name.
#ifndef SEXTANT_ENGINE_MODEL_PRESETS_PRESETS_H_
#define SEXTANT_ENGINE_MODEL_PRESETS_PRESETS_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

struct ModelPreset {
  absl::string_view name;    // e.g. "llama-3.1-70b"
  absl::string_view source;  // the source of the shape
  ArchitectureSpec architecture;
};

// All presets, by family. Built at the first call, never destroyed.
const std::vector<ModelPreset>& ModelPresets();

// The preset whose ComparableName() is that of `name`.
//
// Errors: kNotFound with reason MODEL_UNKNOWN; the message lists near names.
absl::StatusOr<const ModelPreset*> FindModelPreset(absl::string_view name);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_PRESETS_PRESETS_H_
