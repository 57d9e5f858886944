// A model from the text of a Hugging Face config.json.
#ifndef SEXTANT_SERVER_HUGGING_FACE_READ_CONFIG_H_
#define SEXTANT_SERVER_HUGGING_FACE_READ_CONFIG_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/model/hugging_face_model.h"

namespace sextant {

// The model that `text` describes: a dense decoder of a family of docs/config_json.md, whose
// parameters are counted exactly; its transformer passes CheckTransformer().
//
// Errors, all kInvalidArgument FIELD_INVALID, under "model.hugging_face_config":
//   those of ParseConfigFields()
//   ".model_type", ".architectures"   missing, unknown, or of a model that is no such decoder
//   ".<field>"                        missing, of a wrong type, out of range, contradicting
//                                     another, or speaking of parameters that are not counted
absl::StatusOr<HuggingFaceModel> ReadHuggingFaceConfig(absl::string_view text);

}  // namespace sextant

#endif  // SEXTANT_SERVER_HUGGING_FACE_READ_CONFIG_H_
