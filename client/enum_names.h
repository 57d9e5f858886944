// The names of the API's enum values, as people write them: DATA_TYPE_BF16 is "bf16",
// KIND_SGD_MOMENTUM is "sgd-momentum". Read from the descriptors, so that they are
// always those of the API.
#ifndef SEXTANT_CLIENT_ENUM_NAMES_H_
#define SEXTANT_CLIENT_ENUM_NAMES_H_

#include <google/protobuf/descriptor.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sextant/v1/data_type.pb.h"

namespace sextant {

// The names that a user may write, in the API's order; "unspecified" is not one.
std::vector<std::string> EnumNames(const google::protobuf::EnumDescriptor& type);

// The number of the value called `name` (case, '-' and '_' alike); nullopt if none is.
std::optional<int> EnumNumber(const google::protobuf::EnumDescriptor& type, absl::string_view name);

// The name of value `number`; "" for 0 (unspecified), and the number itself where a
// newer server sends a value that this client does not know.
std::string EnumName(const google::protobuf::EnumDescriptor& type, int number);

inline std::string DataTypeName(v1::DataType type) {
  return EnumName(*v1::DataType_descriptor(), static_cast<int>(type));
}

// What speeds in `type` are counted in: operations on whole numbers are no FLOPs.
inline const char* UnitOfWork(v1::DataType type) {
  return type == v1::DATA_TYPE_INT8 || type == v1::DATA_TYPE_INT4 ? "OP/s" : "FLOP/s";
}

}  // namespace sextant

#endif  // SEXTANT_CLIENT_ENUM_NAMES_H_
