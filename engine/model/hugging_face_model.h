// What a Hugging Face config.json says of a model. The text is JSON, and so is read outside the
// engine (server/hugging_face).
#ifndef SEXTANT_ENGINE_MODEL_HUGGING_FACE_MODEL_H_
#define SEXTANT_ENGINE_MODEL_HUGGING_FACE_MODEL_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/model/transformer_spec.h"

namespace sextant {

struct HuggingFaceModel {
  absl::string_view model_type;  // a family's name, never freed: "llama"
  TransformerSpec transformer = {};
  std::vector<std::string> ignored_fields = {};  // those that were not read, by name
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_HUGGING_FACE_MODEL_H_
