#include "client/launcher/config_file.h"

// The Debian package has a library too; the headers alone need none at run time.
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// The parser of release 3.3 asserts what it then reports as an error of the text ("[=]").
#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace sextant::client {
namespace {

using Json = nlohmann::json;

constexpr char kAuto[] = "auto";  // Hugging Face's accelerate fills it in
constexpr size_t kMaxQuoted = 40;
constexpr int kMaxJsonDepth = 64;  // of JSON; toml++ has a limit of its own

// Dates become their text: no setting is one.
Json JsonOf(const toml::node& node) {
  if (const toml::table* table = node.as_table()) {
    Json out = Json::object();
    for (const auto& [key, value] : *table) out[std::string(key.str())] = JsonOf(value);
    return out;
  }
  if (const toml::array* array = node.as_array()) {
    Json out = Json::array();
    for (const toml::node& value : *array) out.push_back(JsonOf(value));
    return out;
  }
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_boolean()) return value->get();
  return "date";
}

// A value as errors quote it.
std::string Quoted(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() <= kMaxQuoted) return text;
  return absl::StrCat(text.substr(0, kMaxQuoted), "...");
}

std::optional<int64_t> WholeOf(const Json& value) {
  constexpr double kLimit = 9.2e18;  // below 2^63
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX})
    return std::nullopt;
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (!(std::abs(number) < kLimit) || number != std::floor(number)) return std::nullopt;
  return static_cast<int64_t>(number);
}

// Appends the paths of all values below `node` that `keep` keeps.
template <typename Keep>
void AppendPaths(const Json& node, const std::string& path, const Keep& keep,
                 std::vector<std::string>* out) {
  for (const auto& [key, value] : node.items()) {
    const std::string at = path.empty() ? key : absl::StrCat(path, ".", key);
    if (value.is_object()) {
      AppendPaths(value, at, keep, out);
    } else if (keep(at, value)) {
      out->push_back(at);
    }
  }
}

}  // namespace

absl::StatusOr<ConfigFile> ConfigFile::FromToml(const std::string& text) {
  const toml::parse_result parsed = toml::parse(text);
  if (parsed.failed()) {
    return absl::InvalidArgumentError(absl::StrCat("no TOML: line ",
                                                   parsed.error().source().begin.line, ": ",
                                                   std::string(parsed.error().description())));
  }
  return ConfigFile(JsonOf(parsed.table()));
}

absl::StatusOr<ConfigFile> ConfigFile::FromJson(const std::string& text) {
  bool deep = false;
  const auto limit = [&deep](int depth, Json::parse_event_t, Json&) {
    deep = deep || depth > kMaxJsonDepth;
    return !deep;
  };
  try {
    Json root = Json::parse(text, limit);
    if (deep) return absl::InvalidArgumentError("its objects are nested too deeply");
    if (root.is_object()) return ConfigFile(std::move(root));
    return absl::InvalidArgumentError("it holds no JSON object: write {...}");
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("no JSON: ", error.what()));
  }
}

const ConfigFile::Json* ConfigFile::At(const std::string& path) const {
  const Json* node = &root_;
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    if (!node->is_object()) return nullptr;
    const auto found = node->find(std::string(name));
    if (found == node->end()) return nullptr;
    node = &*found;
  }
  return node;
}

const ConfigFile::Json* ConfigFile::Find(const std::string& path) const {
  const Json* const found = At(path);
  return found == nullptr || found->is_null() || *found == kAuto ? nullptr : found;
}

bool ConfigFile::IsAuto(const std::string& path) const {
  const Json* const found = At(path);
  return found != nullptr && *found == kAuto;
}

const ConfigFile::Json* ConfigFile::Read(const std::string& path) {
  const Json* const found = Find(path);
  if (found != nullptr) read_.insert(path);
  return found;
}

std::optional<int64_t> ConfigFile::Count(const std::string& path, int64_t least) {
  const Json* const found = Read(path);
  if (found == nullptr) return std::nullopt;
  const std::optional<int64_t> value = WholeOf(*found);
  if (value.has_value() && *value >= least) return value;
  Refuse(path, absl::StrCat("write a whole number from ", least, " on"));
  return std::nullopt;
}

std::optional<double> ConfigFile::Number(const std::string& path) {
  const Json* const found = Read(path);
  if (found == nullptr) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  Refuse(path, "write a number, e.g. 0.5");
  return std::nullopt;
}

std::optional<bool> ConfigFile::Switch(const std::string& path) {
  const Json* const found = Read(path);
  if (found == nullptr) return std::nullopt;
  if (found->is_boolean()) return found->get<bool>();
  Refuse(path, "write true or false");
  return std::nullopt;
}

std::optional<std::string> ConfigFile::Text(const std::string& path) {
  const Json* const found = Read(path);
  if (found == nullptr) return std::nullopt;
  if (found->is_string()) return found->get<std::string>();
  Refuse(path, "write a text in quotes");
  return std::nullopt;
}

std::vector<std::string> ConfigFile::Texts(const std::string& path) {
  const Json* const found = Read(path);
  std::vector<std::string> out;
  if (found == nullptr) return out;
  if (!found->is_array()) {
    Refuse(path, "write a list of texts");
    return out;
  }
  for (const Json& entry : *found) {
    if (entry.is_string()) out.push_back(entry.get<std::string>());
  }
  if (out.size() != found->size()) Refuse(path, "write a list of texts");
  return out;
}

std::optional<std::vector<std::vector<std::string>>> ConfigFile::Lists(const std::string& path) {
  const Json* const found = Read(path);
  if (found == nullptr) return std::nullopt;
  std::vector<std::vector<std::string>> out;
  bool sound = found->is_array();
  for (size_t i = 0; sound && i < found->size(); ++i) {
    const Json& list = (*found)[i];
    sound = list.is_array();
    out.emplace_back();
    for (size_t j = 0; sound && j < list.size(); ++j) {
      sound = list[j].is_string();
      if (sound) out.back().push_back(list[j].get<std::string>());
    }
  }
  if (sound) return out;
  Refuse(path, "write a list of lists of texts");
  return std::nullopt;
}

void ConfigFile::Refuse(const std::string& path, const std::string& why) {
  const Json* const found = Find(path);
  faults_.push_back(
      absl::StrCat(path, found == nullptr ? "" : absl::StrCat(" = ", Quoted(*found)), ": ", why));
}

std::vector<std::string> ConfigFile::ignored() const {
  std::vector<std::string> out;
  AppendPaths(
      root_, "",
      [this](const std::string& path, const Json& value) {
        return read_.count(path) == 0 && value != kAuto && !value.is_null();
      },
      &out);
  return out;
}

std::vector<std::string> ConfigFile::open() const {
  std::vector<std::string> out;
  AppendPaths(
      root_, "", [](const std::string&, const Json& value) { return value == kAuto; }, &out);
  return out;
}

absl::Status ConfigFile::status() const {
  if (faults_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(faults_, "; "));
}

}  // namespace sextant::client
