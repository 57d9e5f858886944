#include "engine/model/config/config_reader.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/text.h"

namespace sextant {
namespace {

using Kind = ConfigValue::Kind;
constexpr int64_t kMaxSize = 1'000'000'000;
constexpr size_t kMaxNameBytes = 64;

bool IsWhole(const ConfigValue& value, int64_t low) {
  return value.kind == Kind::kInteger && value.integer >= low && value.integer <= kMaxSize;
}

// The object before the first dot of `name`; empty where there is no dot.
absl::string_view ObjectOf(absl::string_view name) {
  const size_t dot = name.find('.');
  return dot == absl::string_view::npos ? "" : name.substr(0, dot);
}

}  // namespace

const ConfigValue* ConfigReader::Lookup(absl::string_view name) const {
  const absl::string_view object = ObjectOf(name);
  const auto found = fields_.find(object.empty() ? name : object);
  if (found == fields_.end()) return nullptr;
  if (object.empty()) return &found->second;
  const absl::string_view member = name.substr(object.size() + 1);
  for (const ConfigValue& value : found->second.elements) {
    if (value.name == member) return &value;
  }
  return nullptr;
}

const ConfigValue* ConfigReader::Mark(absl::string_view name) {
  RefuseOddObject(name);
  const ConfigValue* value = Lookup(name);
  if (value != nullptr) read_.insert(std::string(name));
  return value;
}

// The field that holds the member must be an object, with one member of that name.
void ConfigReader::RefuseOddObject(absl::string_view name) {
  const absl::string_view object = ObjectOf(name);
  const auto found = fields_.find(object);
  if (object.empty() || found == fields_.end()) return;
  const ConfigValue& value = found->second;
  if (value.kind != Kind::kObject && value.kind != Kind::kNull) {
    Refuse(object, absl::StrCat("must be an object, not ", Quoted(value)));
    odd_objects_.insert(std::string(object));
  }
  const absl::string_view member = name.substr(object.size() + 1);
  const auto same = std::count_if(value.elements.begin(), value.elements.end(),
                                  [&](const ConfigValue& e) { return e.name == member; });
  if (same > 1) Refuse(name, "is given twice: write it once");
}

const ConfigValue* ConfigReader::Find(absl::string_view name) {
  const ConfigValue* value = Mark(name);
  return value == nullptr || value->kind == Kind::kNull ? nullptr : value;
}

void ConfigReader::RefuseNumber(absl::string_view name, int64_t low, const ConfigValue& value) {
  int64_t inside_quotes = 0;
  if (value.kind == Kind::kText && absl::SimpleAtoi(value.text, &inside_quotes)) {
    Refuse(name, absl::StrCat("must be a number: write ", inside_quotes, " without quotes"));
    return;
  }
  Refuse(name, absl::StrCat("must be a whole number from ", low, " to ", kMaxSize,
                            ", without fraction or exponent, not ", Quoted(value)));
}

int64_t ConfigReader::Size(absl::string_view name) {
  const ConfigValue* value = Find(name);
  if (value == nullptr) return 0;
  if (IsWhole(*value, 1)) return value->integer;
  RefuseNumber(name, 1, *value);
  return 0;
}

int64_t ConfigReader::RequiredSize(absl::string_view name, int64_t most) {
  const int64_t size = Size(name);
  FieldViolations found;
  found.Require("", name, size, 1, most);
  for (const FieldViolation& violation : found.all()) Refuse(name, violation.description);
  return found.empty() ? size : 0;
}

int64_t ConfigReader::Count(absl::string_view name, int64_t if_absent) {
  const ConfigValue* value = Find(name);
  if (value == nullptr) return if_absent;
  if (IsWhole(*value, 0)) return value->integer;
  RefuseNumber(name, 0, *value);
  return if_absent;
}

int64_t ConfigReader::Span(absl::string_view name, int64_t if_absent) {
  if (!Has(name)) return if_absent;
  return Size(name);
}

bool ConfigReader::Flag(absl::string_view name, bool if_absent) {
  const ConfigValue* value = Mark(name);
  if (value == nullptr) return if_absent;
  if (value->kind == Kind::kBoolean) return value->boolean;
  Refuse(name, absl::StrCat("must be true or false, not ", Quoted(*value)));
  return if_absent;
}

std::string ConfigReader::Text(absl::string_view name, absl::string_view if_absent) {
  const ConfigValue* value = Find(name);
  if (value == nullptr) return std::string(if_absent);
  if (value->kind == Kind::kText) return value->text;
  Refuse(name, absl::StrCat("must be a text, not ", Quoted(*value)));
  return std::string(if_absent);
}

absl::optional<std::vector<std::string>> ConfigReader::Texts(absl::string_view name) {
  const ConfigValue* value = Find(name);
  if (value == nullptr) return {};
  std::vector<std::string> out;
  for (const ConfigValue& element : value->elements) {
    if (element.kind == Kind::kText) out.push_back(element.text);
  }
  if (value->kind == Kind::kArray && out.size() == value->element_count) return out;
  Refuse(name, absl::StrCat("must be an array of names, not ",
                            value->kind == Kind::kArray ? "of others" : Quoted(*value)));
  return {};
}

absl::optional<std::vector<int64_t>> ConfigReader::Integers(absl::string_view name) {
  const ConfigValue* value = Find(name);
  if (value == nullptr) return {};
  std::vector<int64_t> out;
  for (const ConfigValue& element : value->elements) {
    if (element.kind == Kind::kInteger) out.push_back(element.integer);
  }
  if (value->kind == Kind::kArray && out.size() == value->element_count) return out;
  Refuse(name, absl::StrCat("must be an array of whole numbers, not ",
                            value->kind == Kind::kArray ? "of others" : Quoted(*value)));
  return {};
}

void ConfigReader::Refuse(absl::string_view name, absl::string_view description) {
  if (odd_objects_.count(ObjectOf(name)) != 0) return;
  const std::string path = FieldPath(path_, Clip(name, kMaxNameBytes));
  if (!violations_.Mentions(path)) violations_.Add(path, description);
}

bool ConfigReader::HasReadInside(absl::string_view name) const {
  const std::string prefix = absl::StrCat(name, ".");
  const auto found = read_.lower_bound(prefix);
  return found != read_.end() && absl::StartsWith(*found, prefix);
}

}  // namespace sextant
