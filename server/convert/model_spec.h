// A model from the wire.
#ifndef SEXTANT_SERVER_CONVERT_MODEL_SPEC_H_
#define SEXTANT_SERVER_CONVERT_MODEL_SPEC_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/model/config/config_fields.h"
#include "engine/model/config/read_config.h"
#include "engine/model/model_spec.h"
#include "sextant/v1/model.pb.h"

namespace sextant::server {

// The request's field that holds the text; violations are below it.
inline constexpr char kConfigPath[] = "model.hugging_face_config";

// Parses `text`. A byte order mark before it is skipped.
//
// Errors, all kInvalidArgument FIELD_INVALID, of kConfigPath or the field below it:
//   empty; longer than 64 KiB without its quantization_config; not JSON (line and column are
//   named), NaN, -Infinity and text that is not UTF-8 included; not an object; nested deeper than
//   64 levels; more than 1,000 fields; a field given twice
absl::StatusOr<ConfigFields> ParseConfigFields(absl::string_view text);

// The model that `text` describes. Errors: ParseConfigFields()'s and ReadConfig()'s, under
// kConfigPath.
absl::StatusOr<HuggingFaceModel> ReadHuggingFaceConfig(absl::string_view text,
                                                       UnreadRule rule = UnreadRule::kRefuse);

// Converts `m`, whose field is "model". The result's texts are views: `m` outlives it. Appends to
// `violations` what is wrong with the message itself.
ModelSpec ModelSpecFrom(const v1::ModelSpec& m, FieldViolations& violations);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_MODEL_SPEC_H_
