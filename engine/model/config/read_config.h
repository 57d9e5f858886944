// A model from the fields of a Hugging Face config.json.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_READ_CONFIG_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_READ_CONFIG_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/config/config_fields.h"

namespace sextant {

// The rule for unread fields that may stand for parameters.
enum class UnreadRule { kRefuse, kName };

struct HuggingFaceModel {
  absl::string_view model_type;  // a family's name, static: "llama"
  ArchitectureSpec architecture = {};
  std::vector<std::string> ignored_fields = {};  // unread, known to hold no parameters; by name
  std::vector<std::string> unread_fields = {};   // unread, may stand for parameters; by name
  // The field that holds it ("text_config"), or words for the fields that do, where the config is a
  // multimodal model's, of which the text model alone is read; empty: it is the whole model.
  absl::string_view wrapper = "";
  absl::optional<int64_t> vision_parameters = {};  // of the vision tower that is left out
};

// Reads the model that `fields` at `path` describe: one of the families of docs/config_json.md,
// counted exactly. Its architecture passes CheckArchitecture().
//
// Errors, all kInvalidArgument FIELD_INVALID, under `path`:
//   ".model_type", ".architectures"   missing, unknown, or of an unsupported model
//   ".<field>"                        missing, of a wrong type, out of range, contradicting
//                                     another, or unread and not known to hold no parameters
absl::StatusOr<HuggingFaceModel> ReadConfig(const ConfigFields& fields, absl::string_view path,
                                            UnreadRule rule = UnreadRule::kRefuse);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_READ_CONFIG_H_
