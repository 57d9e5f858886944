// What a Hugging Face config.json says of a model.
#ifndef SEXTANT_ENGINE_MODEL_HUGGING_FACE_MODEL_H_
#define SEXTANT_ENGINE_MODEL_HUGGING_FACE_MODEL_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/model/architecture/architecture_spec.h"

namespace sextant {

struct HuggingFaceModel {
  absl::string_view model_type;  // a family's name, never freed: "llama"
  ArchitectureSpec architecture = {};
  std::vector<std::string> ignored_fields = {};  // those that were not read, by name
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_HUGGING_FACE_MODEL_H_
