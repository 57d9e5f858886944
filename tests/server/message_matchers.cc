#include "tests/server/message_matchers.h"

#include <google/protobuf/descriptor.h>

#include <set>

namespace sextant::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void Collect(const Message& message, std::set<const Descriptor*>& types,
             std::set<const FieldDescriptor*>& set) {
  if (message.GetDescriptor()->file()->package() != "sextant.v1") return;
  types.insert(message.GetDescriptor());
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  set.insert(fields.begin(), fields.end());
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      Collect(reflection.GetMessage(message, field), types, set);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      Collect(reflection.GetRepeatedMessage(message, field, i), types, set);
    }
  }
}

}  // namespace

std::vector<std::string> UnsetFields(const Message& message) {
  std::set<const Descriptor*> types;
  std::set<const FieldDescriptor*> set;
  Collect(message, types, set);
  std::set<std::string> out;
  for (const Descriptor* type : types) {
    for (int i = 0; i < type->field_count(); ++i) {
      if (set.count(type->field(i)) == 0) out.insert(type->field(i)->full_name());
    }
  }
  return {out.begin(), out.end()};
}

}  // namespace sextant::server
