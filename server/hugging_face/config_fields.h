// The fields of a config.json: the members of its top-level object. What lies deeper is
// checked to be JSON, and dropped: no parameter count depends on it.
#ifndef SEXTANT_SERVER_HUGGING_FACE_CONFIG_FIELDS_H_
#define SEXTANT_SERVER_HUGGING_FACE_CONFIG_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sextant {

// The request's field that holds the text; violations are below it.
inline constexpr char kConfigPath[] = "model.hugging_face_config";

struct ConfigValue {
  enum class Kind { kNull, kBoolean, kInteger, kOtherNumber, kText, kArray, kObject };

  Kind kind = Kind::kNull;
  bool boolean = false;
  int64_t integer = 0;
  std::string text = {};                // of a text; the digits of a number that is no int64
  size_t element_count = 0;             // of an array or object
  std::vector<std::string> texts = {};  // the texts among an array's elements
};

// `value` as an error quotes it: at most 40 bytes.
std::string Quoted(const ConfigValue& value);

using ConfigFields = std::map<std::string, ConfigValue, std::less<>>;

// Parses `text`. A byte order mark before it is skipped.
//
// Errors, all kInvalidArgument FIELD_INVALID, of kConfigPath or the field below it:
//   empty; longer than 64 KiB; not JSON (line and column are named), NaN, Infinity and text
//   that is not UTF-8 included; not an object; nested deeper than 64 levels; more than 1,000
//   fields; a field given twice
absl::StatusOr<ConfigFields> ParseConfigFields(absl::string_view text);

}  // namespace sextant

#endif  // SEXTANT_SERVER_HUGGING_FACE_CONFIG_FIELDS_H_
