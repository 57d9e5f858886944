#include "server/launcher/json_text.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
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

constexpr size_t kMaxYamlDepth = 32;
constexpr size_t kMaxDocuments = 1000;

// Why reading stopped: an event handler can stop it by an exception alone. Caught in ReadYaml().
struct Refusal {
  YAML::Mark at;
  const char* why;
};

bool IsOneOf(const std::string& word, std::initializer_list<const char*> words) {
  return absl::c_any_of(words, [&](const char* each) { return word == each; });
}

// A plain word's value. Source: the implicit resolvers of PyYAML 6.0 (yaml/resolver.py), without
// its numbers of base 60 and dates, which no setting is.
Json TypedWord(const std::string& word) {
  if (IsOneOf(word, {"", "~", "null", "Null", "NULL"})) return nullptr;
  if (IsOneOf(word, {"yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})) return true;
  if (IsOneOf(word, {"no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})) {
    return false;
  }
  const size_t first = word.front() == '-' || word.front() == '+' ? 1 : 0;
  const bool number =
      first < word.size() &&
      (absl::ascii_isdigit(word[first]) ||
       (word[first] == '.' && first + 1 < word.size() && absl::ascii_isdigit(word[first + 1])));
  if (!number || absl::StartsWith(word, "_") || absl::EndsWith(word, "_")) return word;
  const std::string digits = absl::StrReplaceAll(word, {{"_", ""}});
  int64_t whole = 0;
  if (absl::SimpleAtoi(digits, &whole)) return whole;
  const std::string body = digits.substr(first);
  if (absl::StartsWith(body, "0x") && absl::SimpleHexAtoi(body, &whole)) {
    return first == 1 && digits[0] == '-' ? -whole : whole;
  }
  double value = 0;
  if (absl::SimpleAtod(digits, &value) && std::isfinite(value)) return value;
  return word;
}

// Builds the document from the parser's events, which come in its order.
class DocumentBuilder : public YAML::EventHandler {
 public:
  bool empty() const { return root_.is_null(); }
  Json Take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { Put(mark, nullptr); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    throw Refusal{mark, "write the value in place of the alias"};
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t,
                const std::string& value) override {
    const bool plain = tag == "?" || tag.empty();
    if (in_key()) {
      // A key is a text, whatever it looks like.
      open_.back().key = value;
      open_.back().has_key = true;
      return;
    }
    Put(mark, plain ? TypedWord(value) : Json(value));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    Open(mark, Json::array());
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    Open(mark, Json::object());
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  struct Level {
    Json* value;
    std::string key = {};
    bool has_key = false;
  };

  bool in_key() const {
    return !open_.empty() && open_.back().value->is_object() && !open_.back().has_key;
  }

  // Puts a value where the next one belongs. Pointers to it hold until its parent gets another.
  Json* Put(const YAML::Mark& mark, Json value) {
    if (open_.empty()) return &(root_ = std::move(value));
    Level& level = open_.back();
    if (level.value->is_array()) {
      level.value->push_back(std::move(value));
      return &level.value->back();
    }
    if (!level.has_key) throw Refusal{mark, "write a word as the key"};
    level.has_key = false;
    return &((*level.value)[level.key] = std::move(value));
  }

  void Open(const YAML::Mark& mark, Json value) {
    if (open_.size() == kMaxYamlDepth) throw Refusal{mark, "it is nested more than 32 deep"};
    open_.push_back({.value = Put(mark, std::move(value))});
  }

  Json root_;
  std::vector<Level> open_;
};

absl::Status Fault(const YAML::Mark& at, const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("no YAML: line ", at.line + 1, ": ", why));
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

absl::StatusOr<std::vector<Json>> ReadYaml(const std::string& text) {
  std::vector<Json> out;
  std::istringstream in(text);
  try {
    YAML::Parser parser(in);
    // At a mark that starts no document, such as ",", the parser of release 0.7 finds an empty one
    // again and again.
    for (size_t i = 0; i < kMaxDocuments; ++i) {
      DocumentBuilder builder;
      if (!parser.HandleNextDocument(builder)) return out;
      if (!builder.empty()) out.push_back(builder.Take());
    }
    return absl::InvalidArgumentError(absl::StrCat("no YAML: it has more than ", kMaxDocuments,
                                                   " documents, or a mark where none starts"));
  } catch (const Refusal& refusal) {
    return Fault(refusal.at, refusal.why);
  } catch (const YAML::Exception& error) {
    return Fault(error.mark, Clip(error.msg, 200));
  }
}

}  // namespace sextant::server
