#include "server/convert/config_text.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/base/text.h"
#include "engine/model/config/read_config.h"
#include "proto/words/config_text.h"

namespace sextant::server {
namespace {

using nlohmann::json;
using Kind = ConfigValue::Kind;

constexpr size_t kMaxTextBytes = 65'536;  // 64 KiB
constexpr size_t kMaxDepth = 64;
constexpr size_t kKeptDepth = 5;  // the top object is the first level; no family reads deeper
constexpr size_t kMaxFields = 1000;
constexpr size_t kMaxParserWordBytes = 200;

// The parser's own words (line, column, reason) without its prefix "[...] ". They quote the
// text, which may not be UTF-8.
std::string ParserWords(absl::string_view words) {
  const size_t prefix = words.find("] ");
  std::string out(prefix == absl::string_view::npos ? words : words.substr(prefix + 2));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return Clip(out, kMaxParserWordBytes);
}

// Receives the parser's events and keeps those of the first levels. Deeper levels are checked to be
// JSON and dropped: depth costs no stack.
class FieldCollector : public nlohmann::json_sax<json> {
 public:
  bool null() override { return Keep({}); }
  bool boolean(bool value) override { return Keep({.kind = Kind::kBoolean, .boolean = value}); }
  bool number_integer(number_integer_t value) override {
    return Keep({.kind = Kind::kInteger, .integer = value});
  }
  bool number_unsigned(number_unsigned_t value) override {
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return Keep({.kind = Kind::kOtherNumber, .text = absl::StrCat(value)});
    }
    return number_integer(static_cast<int64_t>(value));
  }
  bool number_float(number_float_t, const string_t& digits) override {
    return Keep({.kind = Kind::kOtherNumber, .text = digits});
  }
  bool string(string_t& value) override { return Keep({.kind = Kind::kText, .text = value}); }
  bool binary(binary_t&) override { return false; }  // not a value of JSON text
  bool start_object(size_t) override { return Open(Kind::kObject); }
  bool start_array(size_t) override { return Open(Kind::kArray); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(string_t& name) override {
    if (depth_ != 1) {
      member_ = name;
      return true;
    }
    if (fields_.size() == kMaxFields) {
      return Refuse(kConfigPath, absl::StrCat("has more than ", kMaxFields,
                                              " fields: write a model's config.json"));
    }
    bool is_new = false;
    std::tie(field_, is_new) = fields_.emplace(name, ConfigValue());
    return is_new || Refuse(FieldPath(kConfigPath, Clip(name, kMaxQuotedBytes)),
                            "is given twice: write it once");
  }

  bool parse_error(size_t, const std::string&, const json::exception& error) override {
    return Refuse(kConfigPath, absl::StrCat("is not valid JSON: ", ParserWords(error.what())));
  }

  absl::StatusOr<ConfigFields> Take() {
    if (!refusal_.ok()) return refusal_;
    return std::move(fields_);
  }

 private:
  bool Refuse(absl::string_view field, absl::string_view description) {
    refusal_ = InvalidField(field, description);
    return false;
  }

  bool Keep(ConfigValue value) {
    if (depth_ == 0) {
      return Refuse(kConfigPath, absl::StrCat("must be a JSON object, as a config.json is, not ",
                                              Quoted(value)));
    }
    if (depth_ == 1) {
      field_->second = std::move(value);
    } else if (depth_ <= kKeptDepth) {
      ConfigValue& parent = *open_.back();
      ++parent.element_count;
      if (parent.kind == Kind::kObject) value.name = member_;
      parent.elements.push_back(std::move(value));
    }
    return true;
  }

  bool Open(Kind kind) {
    const bool is_top = depth_ == 0 && kind == Kind::kObject;
    if (!is_top && !Keep({.kind = kind})) return false;
    // A parent's elements do not move while one of them is open.
    if (depth_ == 1) open_ = {&field_->second};
    if (depth_ > 1 && depth_ < kKeptDepth) open_.push_back(&open_.back()->elements.back());
    if (++depth_ <= kMaxDepth) return true;
    return Refuse(kConfigPath, absl::StrCat("is nested deeper than ", kMaxDepth,
                                            " levels: write a model's config.json"));
  }

  bool Close() {
    if (--depth_ >= 1 && depth_ < kKeptDepth) open_.pop_back();
    return true;
  }

  size_t depth_ = 0;
  ConfigFields fields_;
  ConfigFields::iterator field_;    // the one being read, where depth_ is at least 1
  std::vector<ConfigValue*> open_;  // arrays and objects around the next value, outer first
  std::string member_;              // of an object below the top
  absl::Status refusal_;
};

}  // namespace

absl::StatusOr<ConfigFields> ParseConfigFields(absl::string_view text) {
  if (text.empty()) return InvalidField(kConfigPath, "is empty: write the text of a config.json");
  std::string shorter;
  if (text.size() > kMaxTextBytes) text = shorter = words::WithoutQuantization(text);
  if (text.size() > kMaxTextBytes) {
    return InvalidField(kConfigPath,
                        absl::StrCat("is ", text.size(), " bytes long, more than ", kMaxTextBytes,
                                     " (64 KiB): write the config.json alone"));
  }
  std::string finite;
  if (absl::StrContains(text, "Infinity")) text = finite = words::WithFiniteNumbers(text);
  FieldCollector collector;
  json::sax_parse(text.begin(), text.end(), &collector);
  return collector.Take();
}

absl::StatusOr<HuggingFaceModel> ReadHuggingFaceConfig(absl::string_view text, UnreadRule rule) {
  SEXTANT_ASSIGN_OR_RETURN(const ConfigFields fields, ParseConfigFields(text));
  return ReadConfig(fields, kConfigPath, rule);
}

}  // namespace sextant::server
