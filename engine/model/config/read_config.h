// A model from the fields of a Hugging Face config.json.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_READ_CONFIG_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_READ_CONFIG_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/model/config/config_fields.h"
#include "engine/model/hugging_face_model.h"

namespace sextant {

// The model that `fields`, which stand at `path`, describe: of a family of docs/config_json.md,
// counted exactly. Its architecture passes CheckArchitecture().
//
// Errors, all kInvalidArgument FIELD_INVALID, under `path`:
//   ".model_type", ".architectures"   missing, unknown, or of a model that is not supported
//   ".<field>"                        missing, of a wrong type, out of range, contradicting
//                                     another, or speaking of parameters that are not counted
absl::StatusOr<HuggingFaceModel> ReadConfig(const ConfigFields& fields, absl::string_view path);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_READ_CONFIG_H_
