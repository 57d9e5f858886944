#include "proto/words/field_names.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proto/text/enum_names.h"
#include "sextant/v1/field_options.pb.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::words {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void AddNamed(const FieldDescriptor& field, const v1::FieldDescription& described, std::string path,
              std::vector<NamedField>* out) {
  NamedField& named = out->emplace_back();
  named.path = std::move(path);
  named.field = &field;
  named.admitted = described.admit();
  for (absl::string_view name : absl::StrSplit(described.flag(), ',')) {
    if (absl::ConsumePrefix(&name, "--")) {
      named.names.emplace_back(name);
    } else {
      named.is_argument = true;
    }
  }
}

void AddFields(const Descriptor& type, absl::string_view prefix, std::vector<NamedField>* out) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    std::string path = absl::StrCat(prefix, field.name());
    const v1::FieldDescription& described = field.options().GetExtension(v1::field);
    if (!described.flag().empty()) {
      AddNamed(field, described, std::move(path), out);
    } else if (field.message_type() != nullptr && !field.is_repeated()) {
      AddFields(*field.message_type(), absl::StrCat(path, "."), out);
    }
  }
}

std::string CountsText(const Message& message, const FieldDescriptor& field) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_INT64) return "";
  std::vector<int64_t> counts;
  counts.reserve(static_cast<size_t>(message.GetReflection()->FieldSize(message, &field)));
  for (int i = 0; i < message.GetReflection()->FieldSize(message, &field); ++i) {
    counts.push_back(message.GetReflection()->GetRepeatedInt64(message, &field, i));
  }
  return absl::StrJoin(counts, "x");
}

}  // namespace

std::string NamedField::Word() const { return absl::StrCat("--", names.back()); }

std::vector<NamedField> NamedFieldsOf(const Descriptor& type) {
  std::vector<NamedField> out;
  AddFields(type, "", &out);
  return out;
}

const std::vector<NamedField>& PlanFields() {
  static const auto* const fields =
      new std::vector<NamedField>(NamedFieldsOf(*v1::PlanRunRequest::descriptor()));
  return *fields;
}

std::string PlanFieldWord(absl::string_view path) {
  const auto found =
      absl::c_find_if(PlanFields(), [path](const NamedField& each) { return each.path == path; });
  return found == PlanFields().end() ? std::string(path) : found->Word();
}

std::string FieldText(const Message& message, const FieldDescriptor& field) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  if (field.is_repeated()) return CountsText(message, field);
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT64:
      return absl::StrCat(reflection.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return absl::StrFormat("%.15g", reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return text::EnumName(*field.enum_type(), reflection.GetEnumValue(message, &field));
    default:
      return "";
  }
}

}  // namespace sextant::words
