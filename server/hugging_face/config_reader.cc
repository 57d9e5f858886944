#include "server/hugging_face/config_reader.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/clip.h"

namespace sextant {
namespace {

using Kind = ConfigValue::Kind;

constexpr int64_t kMaxSize = 1'000'000'000;
constexpr size_t kMaxNameBytes = 64;

}  // namespace

const ConfigValue* ConfigReader::Find(absl::string_view name) {
  const auto found = fields_.find(name);
  if (found == fields_.end()) return nullptr;
  read_.insert(found->first);
  return found->second.kind == Kind::kNull ? nullptr : &found->second;
}

int64_t ConfigReader::Size(absl::string_view name) {
  const ConfigValue* value = Find(name);
  if (value == nullptr) return 0;
  if (value->kind == Kind::kInteger && value->integer >= 1 && value->integer <= kMaxSize) {
    return value->integer;
  }
  int64_t inside_quotes = 0;
  if (value->kind == Kind::kText && absl::SimpleAtoi(value->text, &inside_quotes)) {
    Refuse(name, absl::StrCat("must be a number: write ", inside_quotes, " without quotes"));
  } else {
    Refuse(name, absl::StrCat("must be a whole number from 1 to ", kMaxSize,
                              ", without fraction or exponent, not ", Quoted(*value)));
  }
  return 0;
}

bool ConfigReader::Flag(absl::string_view name, bool if_absent) {
  const auto found = fields_.find(name);
  if (found == fields_.end()) return if_absent;
  read_.insert(found->first);
  if (found->second.kind == Kind::kBoolean) return found->second.boolean;
  Refuse(name, absl::StrCat("must be true or false, not ", Quoted(found->second)));
  return if_absent;
}

void ConfigReader::Refuse(absl::string_view name, absl::string_view description) {
  const std::string path = FieldPath(kConfigPath, Clip(name, kMaxNameBytes));
  if (!violations_.Mentions(path)) violations_.Add(path, description);
}

}  // namespace sextant
