// The names of the API's enum values, as people write them: DATA_TYPE_BF16 is "bf16",
// KIND_SGD_MOMENTUM is "sgd-momentum". Read from the descriptors, so that they always match the
// API.
#ifndef SEXTANT_PROTO_TEXT_ENUM_NAMES_H_
#define SEXTANT_PROTO_TEXT_ENUM_NAMES_H_

#include <google/protobuf/descriptor.h>
#include <google/protobuf/generated_enum_reflection.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sextant/v1/data_type.pb.h"

namespace sextant::text {

// The names that a user may write, in the API's order; "unspecified" is not one.
std::vector<std::string> EnumNames(const google::protobuf::EnumDescriptor& type);

// The number of the value called `name` (case, '-' and '_' alike); nullopt if none is.
std::optional<int> EnumNumber(const google::protobuf::EnumDescriptor& type, absl::string_view name);

// The name of value `number`; "" for 0 (unspecified), and the number itself where a newer program
// sends a value that this version does not know.
std::string EnumName(const google::protobuf::EnumDescriptor& type, int number);

template <typename Enum>
std::string EnumName(Enum value) {
  return EnumName(*google::protobuf::GetEnumDescriptor<Enum>(), static_cast<int>(value));
}

// EnumName() with underscores, "fp8_e4m3", and "unspecified" for 0: for texts that programs read,
// such as a figure's name or the label of a measured point.
std::string EnumLabel(const google::protobuf::EnumDescriptor& type, int number);

template <typename Enum>
std::string EnumLabel(Enum value) {
  return EnumLabel(*google::protobuf::GetEnumDescriptor<Enum>(), static_cast<int>(value));
}

inline std::string DataTypeName(v1::DataType type) { return EnumName(type); }

// The unit of rates in `type`: integer operations are not FLOPs.
inline const char* UnitOfWork(v1::DataType type) {
  return type == v1::DATA_TYPE_INT8 || type == v1::DATA_TYPE_INT4 ? "OP/s" : "FLOP/s";
}

}  // namespace sextant::text

#endif  // SEXTANT_PROTO_TEXT_ENUM_NAMES_H_
