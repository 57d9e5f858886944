#include "server/launcher/python_file.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace sextant::server {
namespace {

constexpr size_t kColumns = 100;

}  // namespace

std::string PythonText(const SettingList::Value& value) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (absl::StartsWith(text, kPythonName)) return text.substr(1);
  }
  if (value.is_array()) {
    std::vector<std::string> parts;
    for (const auto& each : value) parts.push_back(PythonText(each));
    return absl::StrCat("[", absl::StrJoin(parts, ", "), "]");
  }
  return value.dump();  // JSON's numbers and texts are Python's
}

std::string PythonCall(absl::string_view callee, const SettingList::Value& arguments, int indent) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : arguments.items()) {
    parts.push_back(absl::StrCat(name, "=", PythonText(value)));
  }
  std::string line = absl::StrCat(callee, "(", absl::StrJoin(parts, ", "), ")");
  const bool several = absl::StrContains(line, '\n');
  if (!several && static_cast<size_t>(indent) + line.size() <= kColumns) return line;
  const std::string margin(static_cast<size_t>(indent), ' ');
  std::string out = absl::StrCat(callee, "(\n");
  for (const std::string& part : parts) absl::StrAppend(&out, margin, "    ", part, ",\n");
  return absl::StrCat(out, margin, ")");
}

}  // namespace sextant::server
