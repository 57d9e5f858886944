#include "proto/text/enum_names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"

namespace sextant::text {
namespace {

using google::protobuf::EnumDescriptor;
using google::protobuf::EnumValueDescriptor;

std::string Kebab(absl::string_view name) {
  return absl::AsciiStrToLower(absl::StrReplaceAll(name, {{"_", "-"}}));
}

// Value 0 is PREFIX_UNSPECIFIED (buf's ENUM_ZERO_VALUE_SUFFIX), all others PREFIX_NAME.
std::string NameOf(const EnumValueDescriptor& value) {
  const std::string& zero = value.type()->FindValueByNumber(0)->name();
  const absl::string_view prefix = absl::StripSuffix(zero, "UNSPECIFIED");
  return Kebab(absl::StripPrefix(value.name(), prefix));
}

}  // namespace

std::vector<std::string> EnumNames(const EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 0; i < type.value_count(); ++i) {
    if (type.value(i)->number() != 0) names.push_back(NameOf(*type.value(i)));
  }
  return names;
}

std::optional<int> EnumNumber(const EnumDescriptor& type, absl::string_view name) {
  const std::string wanted = Kebab(name);
  for (int i = 0; i < type.value_count(); ++i) {
    const EnumValueDescriptor& value = *type.value(i);
    // Accepts the API's own spelling too: errors of the server use it.
    const bool same = NameOf(value) == wanted || Kebab(value.name()) == wanted;
    if (value.number() != 0 && same) return value.number();
  }
  return std::nullopt;
}

std::string EnumName(const EnumDescriptor& type, int number) {
  if (number == 0) return "";
  const EnumValueDescriptor* value = type.FindValueByNumber(number);
  return value == nullptr ? absl::StrCat(number) : NameOf(*value);
}

std::string EnumLabel(const EnumDescriptor& type, int number) {
  if (number == 0) return "unspecified";
  return absl::StrReplaceAll(EnumName(type, number), {{"-", "_"}});
}

}  // namespace sextant::text
