// Sets one field of a request from text, by the field's path ("cluster.device_count"). The field's
// type and name in the API determine how the text is read, so that a flag is just a name and a
// path.
#ifndef SEXTANT_PROTO_WORDS_FIELD_PATH_H_
#define SEXTANT_PROTO_WORDS_FIELD_PATH_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sextant::words {

// The form of a field's text.
enum class FieldForm {
  kCount,      // int64
  kLength,     // int64 whose name ends in "_length" or "_batch_size": no "8K"
  kCounts,     // repeated int64: "8x8x7"
  kByteCount,  // int64 "bytes", or whose name ends in "_bytes"
  kNumber,     // double
  kText,       // string
  kTextFile,   // string whose name ends in "_config": the text of a file
  kChoice,     // enum
  kBoolean,    // optional bool: absent is not false
  kSwitch,     // bool
  kDuration,   // google.protobuf.Duration
  kInstant,    // google.protobuf.Timestamp: a date, or RFC 3339
  kPairs,      // repeated message of two int64s: "10B:512,40B:1024"
  kMessage,    // any other message: proto JSON, in a file
};

// The field at `path` below `type`; nullptr where there is none.
const google::protobuf::FieldDescriptor* FindField(const google::protobuf::Descriptor& type,
                                                   absl::string_view path);

FieldForm FormOf(const google::protobuf::FieldDescriptor& field);

// True where a flag for the field takes the name of a file that holds the field's text.
bool IsFile(FieldForm form);

// The field's value in --help: "COUNT", or all choices as "a|b|c".
std::string ValueName(const google::protobuf::FieldDescriptor& field);

// Sets the field at `path` of `message` from `text`. A repeated field gains an entry; one of texts
// gains those separated by commas, one of counts those joined by x or separated by commas. The
// server checks ranges.
//
// Errors: kInvalidArgument, saying what to write; kInternal where there is no such field.
absl::Status SetField(absl::string_view path, const std::string& text,
                      google::protobuf::Message* message);

}  // namespace sextant::words

#endif  // SEXTANT_PROTO_WORDS_FIELD_PATH_H_
