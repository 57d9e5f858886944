#include "server/launcher/toml_text.h"

// The Debian package has a library too; the headers alone need none at run time.
#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_MAX_NESTED_VALUES 32
// The parser of release 3.3 asserts what it then reports as an error of the text ("[=]").
#define TOML_ASSERT(condition) static_assert(true)
#include <toml++/toml.h>

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/base/text.h"

namespace sextant::server {
namespace {

using Json = nlohmann::json;

constexpr int kMaxParts = 32;  // of a name

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

// Passes over the strings and comments of a text, whose dots make no table.
class TomlLexer {
 public:
  explicit TomlLexer(absl::string_view text) : text_(text) {}

  // The line of a name with more parts than kMaxParts: toml++ makes a table of each, and frees them
  // by recursion. Absent where there is none.
  std::optional<size_t> DeepLine() {
    int dots = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        SkipString(c);
      } else if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else {
        dots = absl::string_view("\n=,[]{}").find(c) != absl::string_view::npos ? 0
               : c == '.'                                                       ? dots + 1
                                                                                : dots;
        if (dots >= kMaxParts) {
          return 1 + std::count(text_.begin(), text_.begin() + static_cast<ptrdiff_t>(at_), '\n');
        }
        ++at_;
      }
    }
    return std::nullopt;
  }

 private:
  bool Has(absl::string_view what) const { return text_.substr(at_, what.size()) == what; }

  void SkipString(char quote) {
    const std::string three(3, quote);
    const std::string end = Has(three) ? three : std::string(1, quote);
    at_ += end.size();
    while (at_ < text_.size() && !Has(end)) {
      const bool escape = quote == '"' && text_[at_] == '\\';
      at_ += escape ? 2 : 1;
    }
    at_ = std::min(at_ + end.size(), text_.size());
    // Quotes before the end of a long string belong to it.
    for (int i = 0; i < 2 && end.size() == 3 && at_ < text_.size() && text_[at_] == quote; ++i) {
      ++at_;
    }
  }

  const absl::string_view text_;
  size_t at_ = 0;
};

}  // namespace

absl::StatusOr<Json> ReadToml(const std::string& text) {
  if (const auto line = TomlLexer(text).DeepLine()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no TOML: line ", *line, ": a name has more than ", kMaxParts, " parts"));
  }
  const toml::parse_result parsed = toml::parse(text);
  if (parsed.succeeded()) return JsonOf(parsed.table());
  return absl::InvalidArgumentError(
      absl::StrCat("no TOML: line ", parsed.error().source().begin.line, ": ",
                   Clip(std::string(parsed.error().description()), 200)));
}

}  // namespace sextant::server
