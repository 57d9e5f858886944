// Messages in the JSON mapping of protobuf, to and from protobuf's own bytes.
#ifndef SEXTANT_SERVER_CONNECT_JSON_CODEC_H_
#define SEXTANT_SERVER_CONNECT_JSON_CODEC_H_

#include <google/protobuf/descriptor.h>

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace sextant::server {

// The bytes of the message of `type` that `json` is. Takes field names in lowerCamelCase and as the
// .proto file has them.
//
// Errors: kInvalidArgument with FIELD_INVALID, naming the field by its path as the handlers do, and
// what to write instead: near names of an unknown field, an enum's values.
absl::StatusOr<std::string> BytesOfJson(const google::protobuf::Descriptor& type,
                                        absl::string_view json);

// The JSON of a message, in lowerCamelCase, without defaults.
//
// Errors: kInternal where `bytes` are not a message of `type`.
absl::StatusOr<std::string> JsonOfBytes(const google::protobuf::Descriptor& type,
                                        absl::string_view bytes);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONNECT_JSON_CODEC_H_
