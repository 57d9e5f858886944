// The fields of a config.json that its family does not read: which are known to change no
// parameter, and what the others may stand for.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_UNREAD_FIELDS_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_UNREAD_FIELDS_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/model/config/config_reader.h"

namespace sextant {

// True where `value` of the unread field `name` changes no parameter: a listed name (positions,
// tokens, dropout, initialisers, types, caches, generation, quantisation, training), or a value
// that means none (false, 0, empty).
bool IsHarmless(absl::string_view name, const ConfigValue& value);

// The same for a field around a multimodal model's text model, which also concerns the other parts.
bool IsHarmlessAround(absl::string_view name, const ConfigValue& value);

// The error of the unread field `name`: the part that it may stand for, and the remedies.
std::string WhyNotIgnored(absl::string_view name, const ConfigValue& value);

// The unread fields by name. For a partly read object, its unread members:
// "attn_config.clip_qkv".
struct UnreadFields {
  std::vector<std::string> harmless;                               // except nulls
  std::vector<std::pair<std::string, const ConfigValue*>> others;  // may stand for parameters
};

// Sorts the fields that `config` has not read. `sizes_compared`: sizes by their usual names agree
// with the model. Those that speak of another mask, which no caller can want ignored, are refused.
UnreadFields SortUnreadFields(ConfigReader& config, bool sizes_compared);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_UNREAD_FIELDS_H_
