// Public models by name.
#ifndef SEXTANT_ENGINE_MODEL_PRESETS_PRESETS_H_
#define SEXTANT_ENGINE_MODEL_PRESETS_PRESETS_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/checked_model.h"

namespace sextant {

struct ModelPreset {
  absl::string_view name;    // e.g. "llama-3.1-70b"
  absl::string_view source;  // the source of the shape
  ArchitectureSpec architecture;
  std::shared_ptr<const CheckedModel> checked = nullptr;  // of `architecture`
};

// All presets, by family. Built at the first call, never destroyed.
const std::vector<ModelPreset>& ModelPresets();

// The preset whose ComparableName() is that of `name`; else, as Hugging Face and Ollama write
// names, of its part after the last slash ("meta-llama/Llama-3.1-70B", "llama3.1:70b"), and of that
// without words that don't change a shape: the stage of training ("-Instruct", "-Base", "-hf") and
// the date of release ("-2407").
//
// Errors: kNotFound with reason MODEL_UNKNOWN; the message lists near names.
absl::StatusOr<const ModelPreset*> FindModelPreset(absl::string_view name);

// The presets whose names contain each of the words of `pattern`, which blanks separate, by
// ComparableName(); all where there are none.
//
// Errors: kNotFound with reason MODEL_UNKNOWN; the message lists near names.
absl::StatusOr<std::vector<const ModelPreset*>> ModelPresetsLike(absl::string_view pattern);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_PRESETS_PRESETS_H_
