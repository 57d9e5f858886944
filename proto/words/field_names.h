// The names of a request's fields for people, which the API itself has: the option
// (sextant.v1.field) of each.
#ifndef SEXTANT_PROTO_WORDS_FIELD_NAMES_H_
#define SEXTANT_PROTO_WORDS_FIELD_NAMES_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sextant/v1/field_options.pb.h"

namespace sextant::words {

// A field of a request that has names.
struct NamedField {
  std::string path;                                // "training.token_count"
  const google::protobuf::FieldDescriptor* field;  // never null
  const v1::FieldDescription* described;           // its option; never null
  std::string group;                               // heading of --help; "" for none
  std::vector<std::string> names;                  // without dashes: "token-count", "tokens"
  bool is_argument = false;                        // a bare word gives it: a model's name

  // "--tokens": the last of its names, which is the short one.
  std::string Word() const;
};

// The fields of `type` with names, in the API's order: its own, and those of the messages below it.
// What is below a field that has names itself, or in a list, is part of that field's text.
std::vector<NamedField> NamedFieldsOf(const google::protobuf::Descriptor& type);

// Those of a PlanRunRequest, listed once.
const std::vector<NamedField>& PlanFields();

// "--tokens" for "training.token_count", a path in a PlanRunRequest; the path itself where it has
// no names.
std::string PlanFieldWord(absl::string_view path);

// The text that SetField() reads as the value of `field` in `message`: "8", "optimizer", "true",
// "8x8x7". "" for texts, messages and an unset choice.
std::string FieldText(const google::protobuf::Message& message,
                      const google::protobuf::FieldDescriptor& field);

}  // namespace sextant::words

#endif  // SEXTANT_PROTO_WORDS_FIELD_NAMES_H_
