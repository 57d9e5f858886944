#include "engine/model/config/config_fields.h"

#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/text.h"

namespace sextant {
namespace {

using Kind = ConfigValue::Kind;

ConfigValue ArrayOf(std::vector<ConfigValue> elements) {
  const size_t count = elements.size();
  return {.kind = Kind::kArray, .element_count = count, .elements = std::move(elements)};
}

ConfigValue WordsOf(const ConfigField& field) {
  std::vector<ConfigValue> out;
  for (const char letter : field.text) {
    out.push_back(
        {.kind = Kind::kText, .text = std::string(letter == 'x' ? field.marked : field.other)});
  }
  return ArrayOf(std::move(out));
}

// The text is a constant of this program: each of its words is a number.
ConfigValue NumbersOf(const ConfigField& field) {
  std::vector<ConfigValue> out;
  for (const absl::string_view word : absl::StrSplit(field.text, ' ')) {
    out.push_back({.kind = Kind::kInteger});
    if (!absl::SimpleAtoi(word, &out.back().integer)) out.back().kind = Kind::kNull;
  }
  return ArrayOf(std::move(out));
}

// An array of one text, or [[["global", "local"], 6]] where the field has an integer.
ConfigValue ArrayValueOf(const ConfigField& field) {
  if (!field.other.empty()) return WordsOf(field);
  if (field.boolean) return NumbersOf(field);
  if (field.integer == 0) return ArrayOf({{.kind = Kind::kText, .text = std::string(field.text)}});
  const ConfigValue pair =
      ArrayOf({{.kind = Kind::kText, .text = "global"}, {.kind = Kind::kText, .text = "local"}});
  return ArrayOf({ArrayOf({pair, {.kind = Kind::kInteger, .integer = field.integer}})});
}

ConfigValue ValueOf(const ConfigField& field) {
  if (field.kind == Kind::kArray) return ArrayValueOf(field);
  return {.kind = field.kind,
          .boolean = field.boolean,
          .integer = field.integer,
          .text = std::string(field.text)};
}

}  // namespace

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

void SetField(const ConfigField& field, ConfigFields& fields) {
  const size_t dot = field.name.find('.');
  if (dot == absl::string_view::npos) {
    fields[std::string(field.name)] = ValueOf(field);
    return;
  }
  ConfigValue& object = fields[std::string(field.name.substr(0, dot))];
  object.kind = Kind::kObject;
  ConfigValue member = ValueOf(field);
  member.name = std::string(field.name.substr(dot + 1));
  for (ConfigValue& old : object.elements) {
    if (old.name != member.name) continue;
    old = member;
    return;
  }
  object.elements.push_back(member);
  ++object.element_count;
}

}  // namespace sextant
