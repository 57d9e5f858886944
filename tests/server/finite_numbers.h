// True if all numbers of a message are finite.
#ifndef SEXTANT_TESTS_SERVER_FINITE_NUMBERS_H_
#define SEXTANT_TESTS_SERVER_FINITE_NUMBERS_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <cmath>
#include <string>
#include <vector>

namespace sextant::server {

// "": all numbers are finite; otherwise the first field whose number is not.
inline std::string NotFinite(const google::protobuf::Message& message) {
  using google::protobuf::FieldDescriptor;
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const int count = field->is_repeated() ? reflection.FieldSize(message, field) : 1;
    for (int i = 0; i < count; ++i) {
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_DOUBLE) {
        const double value = field->is_repeated() ? reflection.GetRepeatedDouble(message, field, i)
                                                  : reflection.GetDouble(message, field);
        if (!std::isfinite(value)) return field->full_name();
      } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
        const std::string inner =
            NotFinite(field->is_repeated() ? reflection.GetRepeatedMessage(message, field, i)
                                           : reflection.GetMessage(message, field));
        if (!inner.empty()) return inner;
      }
    }
  }
  return "";
}

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_FINITE_NUMBERS_H_
