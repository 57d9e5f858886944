// The fields of a config.json, read already: names and values, and no JSON.
#ifndef SEXTANT_ENGINE_MODEL_CONFIG_CONFIG_FIELDS_H_
#define SEXTANT_ENGINE_MODEL_CONFIG_CONFIG_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace sextant {

struct ConfigValue {
  enum class Kind { kNull, kBoolean, kInteger, kOtherNumber, kText, kArray, kObject };

  Kind kind = Kind::kNull;
  std::string name = {};  // of a member of an object
  bool boolean = false;
  int64_t integer = 0;
  std::string text = {};     // of a text; the digits of a number that is no int64
  size_t element_count = 0;  // of an array or object
  // Of an array or object. They may be left out below the third level, where no family reads.
  std::vector<ConfigValue> elements = {};
};

// `value` as an error quotes it: at most 40 bytes.
std::string Quoted(const ConfigValue& value);

// The top-level fields by name.
using ConfigFields = std::map<std::string, ConfigValue, std::less<>>;

// Longest name that an error quotes whole, in bytes.
inline constexpr size_t kMaxQuotedBytes = 40;

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_CONFIG_CONFIG_FIELDS_H_
