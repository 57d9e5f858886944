// The fields of a config.json, parsed from JSON or written in C++: names and values.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_CONFIG_FIELDS_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_CONFIG_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sextant {

struct ConfigValue {
  enum class Kind { kNull, kBoolean, kInteger, kOtherNumber, kText, kArray, kObject };

  Kind kind = Kind::kNull;
  std::string name = {};  // of an object's member
  bool boolean = false;
  int64_t integer = 0;
  std::string text = {};     // a text, or the digits of a number that is not an int64
  size_t element_count = 0;  // of an array or object
  // Members of an array or object. May be omitted below the third level, which no family reads.
  std::vector<ConfigValue> elements = {};
};

// `value` as quoted in errors: at most 40 bytes.
std::string Quoted(const ConfigValue& value);

// The top-level fields by name.
using ConfigFields = std::map<std::string, ConfigValue, std::less<>>;

// The longest name that errors quote whole, in bytes.
inline constexpr size_t kMaxQuotedBytes = 40;

// An array of one text.
struct OneName {
  absl::string_view text;
};

// gpt_neo's attention_types: layers with full attention and with a window alternate, `pairs`
// times.
struct GlobalLocalPairs {
  int64_t pairs;
};

// An array of a word for each letter of `letters`: `marked` for an 'x', else `other`.
struct WordsByLetter {
  absl::string_view other;
  absl::string_view marked;
  absl::string_view letters;
};

// An array of the numbers in a text, "4 8 12".
struct NumbersInText {
  absl::string_view text;
};

// A field written in C++: {"hidden_size", 4096}, {"model_type", "llama"}, {"sliding_window",
// nullptr}. Its strings outlive the field.
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
  constexpr ConfigField(absl::string_view n, WordsByLetter value)
      : name(n),
        kind(ConfigValue::Kind::kArray),
        text(value.letters),
        other(value.other),
        marked(value.marked) {}
  constexpr ConfigField(absl::string_view n, NumbersInText value)
      : name(n), kind(ConfigValue::Kind::kArray), boolean(true), text(value.text) {}
  constexpr ConfigField(absl::string_view n, std::nullptr_t)
      : name(n), kind(ConfigValue::Kind::kNull) {}

  absl::string_view name;
  ConfigValue::Kind kind;
  bool boolean = false;
  int64_t integer = 0;
  absl::string_view text = "";
  absl::string_view other = "";   // of WordsByLetter
  absl::string_view marked = "";  // of WordsByLetter
};

// Adds `field` to `fields`, or replaces the one of the same name. "attn_config.kv_n_heads" is a
// member of the object attn_config, which is created if missing.
void SetField(const ConfigField& field, ConfigFields& fields);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_CONFIG_FIELDS_H_
