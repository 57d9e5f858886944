#include "client/proto_json.h"

#include <google/protobuf/util/json_util.h>

namespace sextant {

std::string ProtoJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.always_print_primitive_fields = false;
  options.preserve_proto_field_names = true;
  std::string json;
  const auto printed = google::protobuf::util::MessageToJsonString(message, &json, options);
  return printed.ok() ? json : "";
}

}  // namespace sextant
