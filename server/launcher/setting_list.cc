// Settings as the texts that launchers take.
#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/launcher/setting_file.h"

namespace sextant::server {
namespace {

// A word that YAML takes for a text as it is; JSON's form of other values is YAML's, too.
std::string YamlScalar(const SettingList::Value& value) {
  if (!value.is_string()) return value.dump();
  const std::string text = value.get<std::string>();
  const bool plain = text.size() > 3 && absl::ascii_isalpha(text[0]) && text != "true" &&
                     text != "false" && text != "null" && absl::c_all_of(text, [](char c) {
                       return absl::ascii_isalnum(c) || absl::StrContains("._-/", c);
                     });
  return plain ? text : value.dump();
}

void AppendBlocks(const SettingList::Value& tree, const std::string& indent, std::string* out) {
  for (const auto& [key, value] : tree.items()) {
    absl::StrAppend(out, indent, key, ":");
    if (value.is_object()) {
      absl::StrAppend(out, "\n");
      AppendBlocks(value, indent + "  ", out);
    } else if (value.is_array()) {
      absl::StrAppend(out, "\n");
      for (const auto& each : value) absl::StrAppend(out, indent, "  - ", YamlScalar(each), "\n");
    } else {
      absl::StrAppend(out, " ", YamlScalar(value), "\n");
    }
  }
}

}  // namespace

std::vector<std::string> SettingList::Arguments() const {
  std::vector<std::string> out;
  for (const auto& [name, value] : all_) {
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    out.push_back(value == true ? name : absl::StrCat(name, " ", text));
  }
  return out;
}

std::string SettingList::Toml() const {
  std::string out;
  std::string section;
  for (const auto& [name, value] : all_) {
    const size_t dot = name.rfind('.');
    if (name.substr(0, dot) != section) {
      section = name.substr(0, dot);
      absl::StrAppend(&out, out.empty() ? "" : "\n", "[", section, "]\n");
    }
    absl::StrAppend(&out, name.substr(dot + 1), " = ", value.dump(), "\n");
  }
  return out;
}

SettingList::Value SettingList::Tree() const {
  Value out;
  for (const auto& [name, value] : all_) {
    Value* node = &out;
    for (const absl::string_view part : absl::StrSplit(name, '.'))
      node = &(*node)[std::string(part)];
    *node = value;
  }
  return out;
}

std::string SettingList::Json() const { return absl::StrCat(Tree().dump(2), "\n"); }

std::string SettingList::Yaml() const {
  std::string out;
  AppendBlocks(Tree(), "", &out);
  return out;
}

}  // namespace sextant::server
