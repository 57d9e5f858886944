#include "engine/model/config/config_fields.h"

#include "absl/strings/str_cat.h"
#include "engine/base/clip.h"

namespace sextant {

std::string Quoted(const ConfigValue& value) {
  using Kind = ConfigValue::Kind;
  switch (value.kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBoolean:
      return value.boolean ? "true" : "false";
    case Kind::kInteger:
      return absl::StrCat(value.integer);
    case Kind::kOtherNumber:
      return Clip(value.text, kMaxQuotedBytes);
    case Kind::kText:
      return absl::StrCat("\"", Clip(value.text, kMaxQuotedBytes - 2), "\"");
    case Kind::kArray:
      return "an array";
    case Kind::kObject:
      return "an object";
  }
  return "";
}

}  // namespace sextant
