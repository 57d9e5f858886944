#include "server/launcher/setting_file.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "server/launcher/argument_words.h"
#include "server/launcher/json_text.h"
#include "server/launcher/toml_text.h"

namespace sextant::server {
namespace {

using Json = nlohmann::json;

constexpr char kAuto[] = "auto";  // Hugging Face's accelerate fills it in
constexpr size_t kMaxQuoted = 40;

// A value as errors quote it.
std::string Quoted(const Json& value) {
  std::string text = value.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() <= kMaxQuoted) return text;
  return absl::StrCat(text.substr(0, kMaxQuoted), "...");
}

// "220_000_000", as Python writes numbers, without the "_" between digits.
std::string WithoutUnderscores(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool between = text[i] == '_' && i > 0 && i + 1 < text.size() &&
                         absl::ascii_isdigit(text[i - 1]) && absl::ascii_isdigit(text[i + 1]);
    if (!between) out += text[i];
  }
  return out;
}

std::optional<int64_t> WholeOf(const Json& value, bool argument) {
  int64_t whole = 0;
  if (argument && absl::SimpleAtoi(WithoutUnderscores(value.get<std::string>()), &whole)) {
    return whole;
  }
  constexpr double kLimit = 9.2e18;  // below 2^63
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t{INT64_MAX})
    return std::nullopt;
  if (value.is_number_integer()) return value.get<int64_t>();
  if (!value.is_number_float()) return std::nullopt;
  const double number = value.get<double>();
  if (!(std::abs(number) < kLimit) || number != std::floor(number)) return std::nullopt;
  return static_cast<int64_t>(number);
}

bool IsOffValue(const Json& value) {
  if (value.is_string()) {
    constexpr absl::string_view kOff[] = {"", "none", "no", "false"};
    return absl::c_linear_search(kOff, absl::AsciiStrToLower(value.get<std::string>()));
  }
  if (value.is_number()) return value.get<double>() == 0;
  return value == false || (value.is_structured() && value.empty());
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

absl::StatusOr<SettingFile> SettingFile::FromToml(const std::string& text) {
  absl::StatusOr<Json> root = ReadToml(text);
  if (!root.ok()) return root.status();
  return SettingFile(*std::move(root));
}

absl::StatusOr<SettingFile> SettingFile::FromJson(const std::string& text) {
  absl::StatusOr<Json> root = ReadJson(text);
  if (!root.ok()) return root.status();
  return SettingFile(*std::move(root));
}

absl::StatusOr<SettingFile> SettingFile::FromArguments(const std::string& text, const Names& known,
                                                       OlderNames older) {
  std::optional<std::vector<std::string>> split = ReversedWords(text);
  if (!split.has_value()) return absl::InvalidArgumentError("a quote has no end: close it");
  for (std::string& word : *split) word = PresentSpelling(word, known, older);
  return ParseArguments(known, [&](CLI::App& app) { app.parse(*std::move(split)); });
}

absl::StatusOr<SettingFile> SettingFile::FromWords(std::vector<std::string> words,
                                                   const Names& known, OlderNames older) {
  absl::c_reverse(words);  // as CLI11 takes them
  for (std::string& word : words) word = PresentSpelling(word, known, older);
  return ParseArguments(known, [&](CLI::App& app) { app.parse(std::move(words)); });
}

template <typename Parse>
absl::StatusOr<SettingFile> SettingFile::ParseArguments(const Names& known, const Parse& parse) {
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  std::map<std::string, std::vector<std::string>> values;
  for (const auto& [name, count] : known) {
    if (count == SettingValues::kNone) {
      app.add_flag(name)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
      continue;
    }
    CLI::Option* const added = app.add_option(name, values[name]);
    if (count == SettingValues::kSome) {
      added->expected(1, CLI::detail::expected_max_vector_size);
    } else {
      added->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    }
  }
  try {
    parse(app);
  } catch (const CLI::Error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(error.what(), ": write --name value or --name=value"));
  }
  Json root = Json::object();
  for (const auto& [name, count] : known) {
    const CLI::Option* const read = app.get_option(name);
    if (read->count() == 0) continue;
    root[name] =
        count == SettingValues::kSome ? Json(read->results()) : Json(read->results().back());
  }
  SettingFile out(std::move(root), true);
  out.ignored_ = UnknownFlags(app.remaining());
  return out;
}

SettingFile SettingFile::FromNamedArguments(Json values, std::map<std::string, std::string> names) {
  SettingFile out(std::move(values), true);
  out.names_ = std::move(names);
  return out;
}

std::string SettingFile::NameOf(const std::string& path) const {
  // "--fp8-recipe blockwise" is a value that is not known.
  const size_t end = path.find(' ');
  const auto name = names_.find(path.substr(0, end));
  if (name == names_.end()) return path;
  return end == std::string::npos ? name->second : absl::StrCat(name->second, path.substr(end));
}

std::vector<SettingWord> WordsOf(absl::string_view words) {
  std::vector<SettingWord> out;
  for (const absl::string_view each : absl::StrSplit(words, '|')) {
    const char mark = each.empty() ? '\0' : each.front();
    SettingWord word = {.name = each,
                        .value = each,
                        .written = mark != '~' && mark != '-' && mark != '*',
                        .named = mark != '~' && mark != '*'};
    if (mark == '~' || mark == '-') word.name.remove_prefix(1);
    const size_t equals = word.name.find('=');
    word.value = equals == absl::string_view::npos ? word.name : word.name.substr(equals + 1);
    word.name = word.name.substr(0, equals);
    out.push_back(word);
  }
  return out;
}

const SettingFile::Json* SettingFile::At(const std::string& path) const {
  const Json* node = &root_;
  if (arguments_) return root_.contains(path) ? &root_[path] : nullptr;
  for (const absl::string_view name : absl::StrSplit(path, '.')) {
    if (!node->is_object()) return nullptr;
    const auto found = node->find(std::string(name));
    if (found == node->end()) return nullptr;
    node = &*found;
  }
  return node;
}

const SettingFile::Json* SettingFile::Find(const std::string& path) const {
  const Json* const found = At(path);
  if (found == nullptr || arguments_) return found;
  return found->is_null() || *found == kAuto ? nullptr : found;
}

bool SettingFile::IsAuto(const std::string& path) const {
  const Json* const found = At(path);
  return found != nullptr && *found == kAuto;
}

bool SettingFile::HoldsText(const std::string& path) const {
  const Json* const found = Find(path);
  return found != nullptr && found->is_string();
}

const SettingFile::Json* SettingFile::Read(const std::string& path) {
  const Json* const found = Find(path);
  if (found != nullptr) read_.insert(path);
  return found;
}

std::optional<int64_t> SettingFile::Count(const std::string& path, int64_t least) {
  const Json* const found = Read(path);
  if (found == nullptr) return std::nullopt;
  const std::optional<int64_t> value = WholeOf(*found, arguments_);
  if (value.has_value() && *value >= least) return value;
  Refuse(path, absl::StrCat("write a whole number from ", least, " on"));
  return std::nullopt;
}

std::optional<double> SettingFile::Number(const std::string& path) {
  const Json* const found = Read(path);
  if (found == nullptr) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  double value = 0;
  const bool sound = arguments_ && absl::SimpleAtod(found->get<std::string>(), &value);
  if (sound && std::isfinite(value)) return value;
  Refuse(path, absl::StrCat("write a number, e.g. ", arguments_ ? "0.1" : "0.5"));
  return std::nullopt;
}

template <typename Value>
std::optional<Value> SettingFile::Take(const std::string& path, const char* what) {
  const Json* const found = Read(path);
  if (found == nullptr) return std::nullopt;
  try {
    return found->get<Value>();
  } catch (const Json::exception&) {
    Refuse(path, what);
    return std::nullopt;
  }
}

std::optional<std::string> SettingFile::Text(const std::string& path) {
  return Take<std::string>(path, "write a text in quotes");
}

std::vector<std::string> SettingFile::Texts(const std::string& path) {
  return Take<std::vector<std::string>>(path, "write a list of texts")
      .value_or(std::vector<std::string>());
}

std::optional<SettingFile::TextLists> SettingFile::Lists(const std::string& path) {
  return Take<TextLists>(path, "write a list of lists of texts");
}

std::string SettingFile::Choose(const std::string& path, absl::string_view words,
                                absl::string_view absent) {
  const std::optional<std::string> text = Text(path);
  if (!text.has_value()) return std::string(absent);
  std::vector<absl::string_view> named;
  for (const SettingWord& word : WordsOf(words)) {
    if (word.name == *text || word.name == "*") return std::string(word.value);
    if (word.named) named.push_back(word.name);
  }
  const absl::string_view last = named.back();
  named.pop_back();
  Refuse(path, absl::StrCat("write ", absl::StrJoin(named, ", "), " or ", last));
  return "";
}

bool SettingFile::IsOn(const std::string& path) {
  return arguments_ ? Has(path) : Take<bool>(path, "write true or false").value_or(false);
}

void SettingFile::Ignore(const std::string& path) {
  if (arguments_) {
    ignored_.push_back(NameOf(path));
  } else {
    read_.erase(path);
  }
}

bool SettingFile::PassIfOff(const std::string& path) {
  const Json* const found = Find(path);
  if (found == nullptr) return false;
  const bool off = IsOffValue(*found);
  if (off) read_.insert(path);
  return off;
}

void SettingFile::Refuse(const std::string& path, const std::string& why) {
  const Json* const found = Find(path);
  if (arguments_) {
    const Json last = found == nullptr ? Json("") : found->is_array() ? found->back() : *found;
    return faults_.push_back(absl::StrCat(NameOf(path), "=", last.get<std::string>(), ": ", why));
  }
  faults_.push_back(
      absl::StrCat(path, found == nullptr ? "" : absl::StrCat(" = ", Quoted(*found)), ": ", why));
}

std::vector<std::string> SettingFile::read() const {
  std::vector<std::string> out;
  const auto keep = [this](const std::string& path, const Json& value) {
    if (arguments_) return !absl::c_linear_search(ignored_, path);
    return read_.count(path) > 0 && value != kAuto && !value.is_null();
  };
  AppendPaths(root_, "", keep, &out);
  return out;
}

std::vector<std::string> SettingFile::ignored() const {
  if (arguments_) return ignored_;
  std::vector<std::string> out;
  AppendPaths(
      root_, "",
      [this](const std::string& path, const Json& value) {
        return read_.count(path) == 0 && value != kAuto && !value.is_null();
      },
      &out);
  return out;
}

std::vector<std::string> SettingFile::open() const {
  std::vector<std::string> out;
  if (arguments_) return out;
  AppendPaths(
      root_, "", [](const std::string&, const Json& value) { return value == kAuto; }, &out);
  return out;
}

absl::Status SettingFile::status() const {
  if (faults_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrJoin(faults_, "; "));
}

}  // namespace sextant::server
