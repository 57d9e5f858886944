#include "proto/words/field_names.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "proto/text/enum_names.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant::words {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// The heading of the flags of a message, or of one within a message with the heading `outer`.
std::string GroupOf(const Descriptor& type, absl::string_view outer) {
  const std::string& own = type.options().GetExtension(v1::flag_group);
  return own.empty() ? std::string(outer) : own;
}

NamedField Named(const FieldDescriptor& field, std::string path, absl::string_view outer) {
  NamedField named;
  named.path = std::move(path);
  named.field = &field;
  named.described = &field.options().GetExtension(v1::field);
  named.group =
      field.message_type() == nullptr ? std::string(outer) : GroupOf(*field.message_type(), outer);
  for (absl::string_view name : absl::StrSplit(named.described->flag(), ',')) {
    if (absl::ConsumePrefix(&name, "--")) {
      named.names.emplace_back(name);
    } else {
      named.is_argument = true;
    }
  }
  return named;
}

// Fields below `type`, in a message with the heading `outer`.
void AddFields(const Descriptor& type, absl::string_view prefix, absl::string_view outer,
               std::vector<NamedField>* out) {
  const std::string group = GroupOf(type, outer);
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    std::string path = absl::StrCat(prefix, field.name());
    if (!field.options().GetExtension(v1::field).flag().empty()) {
      out->push_back(Named(field, std::move(path), group));
    } else if (field.message_type() != nullptr && !field.is_repeated()) {
      AddFields(*field.message_type(), absl::StrCat(path, "."), group, out);
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
  AddFields(type, "", "", &out);
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
