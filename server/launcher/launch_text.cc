#include "server/launcher/launch_text.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "server/launcher/json_text.h"

namespace sextant::server {
namespace {

// The lines that say something: without blanks at either end and comments of a whole line.
std::vector<absl::string_view> SpeakingLines(absl::string_view text) {
  std::vector<absl::string_view> out;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (!line.empty() && line.front() != '#') out.push_back(line);
  }
  return out;
}

bool AnyStarts(const std::vector<absl::string_view>& lines,
               std::initializer_list<absl::string_view> starts) {
  return absl::c_any_of(lines, [&](absl::string_view line) {
    return absl::c_any_of(starts, [&](absl::string_view s) { return absl::StartsWith(line, s); });
  });
}

// "import x", "from x import y", "def f(", "class C": what no shell script has at the start of
// lines, but `from` and `import` of other tools, which a second word tells apart.
bool IsPython(const std::vector<absl::string_view>& lines) {
  return absl::c_any_of(lines, [](absl::string_view line) {
    const bool def = (absl::StartsWith(line, "def ") || absl::StartsWith(line, "class ")) &&
                     absl::EndsWith(line, ":");
    const bool from = absl::StartsWith(line, "from ") && absl::StrContains(line, " import ");
    return def || from || (absl::StartsWith(line, "import ") && !absl::StrContains(line, "--"));
  });
}

// "name: value" or "- item" first: no shell script starts so.
bool IsYaml(const std::vector<absl::string_view>& lines) {
  const absl::string_view first = lines.front();
  if (absl::StartsWith(first, "----")) return false;
  if (absl::StartsWith(first, "---") || absl::StartsWith(first, "- ")) return true;
  const size_t colon = first.find(':');
  if (colon == absl::string_view::npos) return false;
  const absl::string_view key = first.substr(0, colon);
  return (colon + 1 == first.size() || first[colon + 1] == ' ') &&
         absl::c_none_of(key, [](char c) { return c == ' ' || c == '=' || c == '$' || c == '('; });
}

bool IsToml(const std::vector<absl::string_view>& lines) {
  return absl::c_any_of(lines, [](absl::string_view line) {
    if (line.front() != '[' || line.size() < 3) return false;
    const size_t end = line.find(']');
    if (end == absl::string_view::npos) return false;
    return absl::c_all_of(line.substr(1, end - 1), [](char c) {
      return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-' || c == '[' || c == '"';
    });
  });
}

Language LanguageOf(const std::string& text, const std::vector<absl::string_view>& lines) {
  if (lines.front().front() == '{') return Language::kJson;
  // A shell script with a first line of its own, or Slurm's.
  const bool script = absl::StartsWith(text, "#!");
  if (script) {
    const absl::string_view first = absl::string_view(text).substr(0, text.find('\n'));
    return absl::StrContains(first, "python") ? Language::kPython : Language::kShell;
  }
  if (absl::StrContains(text, "#SBATCH")) return Language::kShell;
  if (IsYaml(lines)) return Language::kYaml;
  if (IsPython(lines)) return Language::kPython;
  if (IsToml(lines) && !AnyStarts(lines, {"if [", "--"})) return Language::kToml;
  return Language::kShell;
}

absl::StatusOr<std::vector<nlohmann::json>> DocumentsOf(const std::string& text,
                                                        Language language) {
  std::vector<nlohmann::json> out;
  if (language == Language::kYaml) return ReadYaml(text);
  if (language == Language::kPython || language == Language::kShell) return out;
  if (language == Language::kJson) {
    absl::StatusOr<nlohmann::json> object = ReadJson(text);
    if (!object.ok()) return object.status();
    out.push_back(*std::move(object));
    return out;
  }
  absl::StatusOr<SettingFile> file = SettingFile::FromToml(text);
  if (!file.ok()) return file.status();
  out.push_back(file->document());
  return out;
}

// True where a value stands below names that are longer together: lists of settings name all.
bool HasLongName(const nlohmann::json& node, size_t above) {
  constexpr size_t kMaxBytes = 512;
  if (above > kMaxBytes) return true;
  if (!node.is_structured()) return false;
  for (const auto& [key, value] : node.items()) {
    if (HasLongName(value, node.is_object() ? above + key.size() + 1 : above)) return true;
  }
  return false;
}

}  // namespace

const nlohmann::json& LaunchText::Document() const {
  static const auto* const none = new nlohmann::json(nlohmann::json::object());
  return documents.empty() ? *none : documents.front();
}

const nlohmann::json* LaunchText::Find(absl::string_view path) const {
  if (documents.empty()) return nullptr;
  const nlohmann::json* node = &documents.front();
  for (const absl::string_view part : absl::StrSplit(path, '.')) {
    if (!node->is_object()) return nullptr;
    const auto found = node->find(std::string(part));
    if (found == node->end()) return nullptr;
    node = &*found;
  }
  return node;
}

bool LaunchText::HasAll(std::initializer_list<const char*> paths) const {
  return absl::c_all_of(paths, [this](const char* path) { return Has(path); });
}

bool LaunchText::HasAny(std::initializer_list<const char*> paths) const {
  return absl::c_any_of(paths, [this](const char* path) { return Has(path); });
}

int LaunchText::CountOf(std::initializer_list<const char*> paths) const {
  return static_cast<int>(absl::c_count_if(paths, [this](const char* path) { return Has(path); }));
}

absl::StatusOr<LaunchText> ParseLaunchText(const std::string& name, const std::string& text) {
  if (text.size() > kMaxLaunchTextBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", text.size(), " bytes: at most ", kMaxLaunchTextBytes, " are read"));
  }
  if (absl::StrContains(text, '\0'))
    return absl::InvalidArgumentError("it has bytes of 0: write text");
  const std::vector<absl::string_view> lines = SpeakingLines(text);
  if (lines.empty()) return absl::InvalidArgumentError("it is empty");
  LaunchText out = {.name = name, .text = text, .language = LanguageOf(text, lines)};
  absl::StatusOr<std::vector<nlohmann::json>> documents = DocumentsOf(text, out.language);
  if (!documents.ok()) return documents.status();
  out.documents = *std::move(documents);
  for (const nlohmann::json& document : out.documents) {
    if (!HasLongName(document, 0)) continue;
    return absl::InvalidArgumentError("it has a setting whose name has more than 512 bytes");
  }
  const bool structured = out.language != Language::kPython && out.language != Language::kShell;
  const bool objects = absl::c_all_of(out.documents, [](auto& each) { return each.is_object(); });
  if (!objects || (structured && out.documents.empty())) {
    return absl::InvalidArgumentError("it holds no settings: write name: value");
  }
  return out;
}

}  // namespace sextant::server
