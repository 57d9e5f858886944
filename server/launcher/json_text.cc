#include "server/launcher/json_text.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/base/text.h"
#include "proto/words/config_text.h"

namespace sextant::server {
namespace {

using Json = nlohmann::json;

constexpr int kMaxJsonDepth = 64;

// "line 3: unexpected ','; expected string literal", of the parser's own words.
std::string JsonFault(const std::string& text, const Json::exception& error) {
  const auto* const fault = dynamic_cast<const Json::parse_error*>(&error);
  const size_t end = std::min(fault == nullptr ? 0 : fault->byte, text.size());
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<ptrdiff_t>(end), '\n');
  const absl::string_view words = error.what();
  const size_t reason = words.find(" - ");
  absl::string_view why =
      reason == absl::string_view::npos ? "it is cut short" : words.substr(reason + 3);
  // It quotes the text, which may be long.
  const size_t quote = why.find("; last read: ");
  const absl::string_view quoted = quote == absl::string_view::npos ? "" : why.substr(quote + 13);
  const size_t expected = quoted.rfind("; expected ");
  const std::string more =
      expected == absl::string_view::npos ? "" : std::string(quoted.substr(expected));
  return absl::StrCat("line ", line, ": ", Clip(why.substr(0, quote), 80), Clip(more, 60));
}

}  // namespace

absl::StatusOr<Json> ReadJson(const std::string& text) {
  bool deep = false;
  const auto limit = [&deep](int depth, Json::parse_event_t, Json&) {
    deep = deep || depth > kMaxJsonDepth;
    return !deep;
  };
  try {
    Json root = Json::parse(words::WithFiniteNumbers(text), limit);
    if (deep) return absl::InvalidArgumentError("it is nested too deeply: write 64 levels at most");
    if (root.is_object()) return root;
    return absl::InvalidArgumentError("it holds no JSON object: write {...}");
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("no JSON: ", JsonFault(text, error)));
  }
}

}  // namespace sextant::server
