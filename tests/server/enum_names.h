// Checks that values of the wire's enums and the engine's become each other by their names.
#ifndef SEXTANT_TESTS_SERVER_ENUM_NAMES_H_
#define SEXTANT_TESTS_SERVER_ENUM_NAMES_H_

#include <google/protobuf/descriptor.h>

#include <functional>
#include <map>
#include <string>

#include "absl/types/optional.h"

namespace sextant::server {

// An enum of the API, and the engine's of the same names, declared in `header`.
struct EnumPair {
  const google::protobuf::EnumDescriptor* wire;
  std::string header;  // "engine/tensor/data_type.h"
  std::string name;    // "DataType"
};

// Expects that `to` turns each value of the engine's enum into the wire's of the same name, and
// that the wire has no others but its unspecified one.
void ExpectSameNames(const EnumPair& pair, const std::function<int(int)>& to);

// Expects that `from` turns each value of the wire's enum into the engine's of the same name, and
// the unspecified one into `unspecified`, an engine's name without its k; absent: "".
void ExpectArrives(const EnumPair& pair, const std::string& unspecified,
                   const std::function<absl::optional<int>(int)>& from);

}  // namespace sextant::server

#endif  // SEXTANT_TESTS_SERVER_ENUM_NAMES_H_
