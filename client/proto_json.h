// Messages as proto JSON.
#ifndef SEXTANT_CLIENT_PROTO_JSON_H_
#define SEXTANT_CLIENT_PROTO_JSON_H_

#include <google/protobuf/message.h>

#include <string>

namespace sextant {

// Proto JSON with the API's own field names, fields that hold nothing left out, on several
// lines, the last one ended. Proto JSON writes an int64 as a string.
std::string ProtoJson(const google::protobuf::Message& message);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_PROTO_JSON_H_
