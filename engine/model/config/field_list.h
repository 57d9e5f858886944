// Fields of a config.json written down in C++: what a published file says of a model.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_FIELD_LIST_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_FIELD_LIST_H_

#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "engine/model/config/config_fields.h"

namespace sextant {

// An array of one text.
struct OneName {
  absl::string_view text;
};

// gpt_neo's attention_types of layers that attend to all and to a window in turn, `pairs` times.
struct GlobalLocalPairs {
  int64_t pairs;
};

// {"hidden_size", 4096}, {"model_type", "llama"}, {"sliding_window", nullptr}. The texts outlive
// the field.
struct ConfigField {
  constexpr ConfigField(absl::string_view n, bool value)
      : name(n), kind(ConfigValue::Kind::kBoolean), boolean(value) {}
  constexpr ConfigField(absl::string_view n, int value) : ConfigField(n, int64_t{value}) {}
  constexpr ConfigField(absl::string_view n, int64_t value)
      : name(n), kind(ConfigValue::Kind::kInteger), integer(value) {}
  constexpr ConfigField(absl::string_view n, const char* value)
      : name(n), kind(ConfigValue::Kind::kText), text(value) {}
  constexpr ConfigField(absl::string_view n, OneName value)
      : name(n), kind(ConfigValue::Kind::kArray), text(value.text) {}
  constexpr ConfigField(absl::string_view n, GlobalLocalPairs value)
      : name(n), kind(ConfigValue::Kind::kArray), integer(value.pairs) {}
  constexpr ConfigField(absl::string_view n, std::nullptr_t)
      : name(n), kind(ConfigValue::Kind::kNull) {}

  absl::string_view name;
  ConfigValue::Kind kind;
  bool boolean = false;
  int64_t integer = 0;
  absl::string_view text = "";
};

// Adds `field` to `fields`, or puts it in the place of one of that name. "attn_config.kv_n_heads"
// is a member of the object attn_config, which is made where it is missing.
void SetField(const ConfigField& field, ConfigFields& fields);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_FIELD_LIST_H_
