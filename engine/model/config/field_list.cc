#include "engine/model/config/field_list.h"

#include <string>

namespace sextant {
namespace {

ConfigValue ValueOf(const ConfigField& field) {
  if (field.kind == ConfigValue::Kind::kArray) {
    return {.kind = field.kind,
            .element_count = 1,
            .elements = {{.kind = ConfigValue::Kind::kText, .text = std::string(field.text)}}};
  }
  return {.kind = field.kind,
          .boolean = field.boolean,
          .integer = field.integer,
          .text = std::string(field.text)};
}

}  // namespace

void SetField(const ConfigField& field, ConfigFields& fields) {
  const size_t dot = field.name.find('.');
  if (dot == absl::string_view::npos) {
    fields[std::string(field.name)] = ValueOf(field);
    return;
  }
  ConfigValue& object = fields[std::string(field.name.substr(0, dot))];
  object.kind = ConfigValue::Kind::kObject;
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
