// Settings to write, in order, and the three forms of files that launchers take.
#ifndef SEXTANT_CLIENT_LAUNCHER_SETTING_LIST_H_
#define SEXTANT_CLIENT_LAUNCHER_SETTING_LIST_H_

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace sextant::client {

class SettingList {
 public:
  using Value = nlohmann::ordered_json;

  void Add(const std::string& name, Value value) { all_.emplace_back(name, std::move(value)); }

  bool empty() const { return all_.empty(); }

  // "--num-layers 32" each; one that is true is its name alone.
  std::vector<std::string> Arguments() const {
    std::vector<std::string> out;
    for (const auto& [name, value] : all_) {
      const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
      out.push_back(value == true ? name : absl::StrCat(name, " ", text));
    }
    return out;
  }

  // A section for the part of a name before its last dot. JSON's texts and lists are TOML's.
  std::string Toml() const {
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

  // An object for each part of a name before a dot.
  std::string Json() const {
    Value out;
    for (const auto& [name, value] : all_) {
      Value* node = &out;
      for (const absl::string_view part : absl::StrSplit(name, '.'))
        node = &(*node)[std::string(part)];
      *node = value;
    }
    return absl::StrCat(out.dump(2), "\n");
  }

 private:
  std::vector<std::pair<std::string, Value>> all_;
};

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_LAUNCHER_SETTING_LIST_H_
