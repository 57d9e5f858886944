#include "server/convert/message_fields.h"

#include <google/protobuf/descriptor.h>

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace sextant::server {

std::string EnumLabel(absl::string_view name, absl::string_view prefix) {
  return absl::AsciiStrToLower(absl::StripPrefix(name, prefix));
}

void CheckNumbers(const check::NumberLimits& limits, const google::protobuf::Message& message,
                  absl::string_view path, FieldViolations& violations) {
  limits.Check(message, check::MessagePath(path),
               [&violations](const std::string& field, absl::string_view description) {
                 violations.Add(field, description);
               });
}

absl::optional<double> SecondsFrom(const google::protobuf::Duration& duration,
                                   absl::string_view field, FieldViolations& violations) {
  if (duration.nanos() < 0 || duration.nanos() > 999'999'999) {
    violations.Add(field, "must be above 0, with nanos from 0 to 999999999");
    return absl::nullopt;
  }
  return static_cast<double>(duration.seconds()) + 1e-9 * duration.nanos();
}

bool IsSound(const google::protobuf::Timestamp& time) {
  constexpr int64_t kFirstUnixSecond = -62'135'596'800;  // 0001-01-01
  constexpr int64_t kLastUnixSecond = 253'402'300'799;   // 9999-12-31
  return time.seconds() >= kFirstUnixSecond && time.seconds() <= kLastUnixSecond &&
         time.nanos() >= 0 && time.nanos() <= 999'999'999;
}

absl::optional<std::string> OnlyFieldOf(const google::protobuf::Message& message,
                                        absl::string_view path, FieldViolations& violations) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  if (fields.size() == 1) return fields[0]->name();
  std::vector<std::string> names;
  for (const auto* field : fields) names.push_back(field->name());
  if (!names.empty()) {
    violations.Add(path, absl::StrCat("has ", absl::StrJoin(names, " and "), ": give one of them"));
    return absl::nullopt;
  }
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    names.push_back(message.GetDescriptor()->field(i)->name());
  }
  violations.Add(path, absl::StrCat("is empty: give one of ", absl::StrJoin(names, ", ")));
  return absl::nullopt;
}

}  // namespace sextant::server
