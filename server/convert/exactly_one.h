// Messages of which exactly one field says what is meant. A oneof would keep the last of two
// in silence.
#ifndef SEXTANT_SERVER_CONVERT_EXACTLY_ONE_H_
#define SEXTANT_SERVER_CONVERT_EXACTLY_ONE_H_

#include <google/protobuf/message.h>

#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"

namespace sextant {

// The name of the only field of `message`, which stands at `path`; where it has none or several,
// a violation lists those given, or those to choose from.
absl::optional<std::string> OnlyFieldOf(const google::protobuf::Message& message,
                                        absl::string_view path, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_EXACTLY_ONE_H_
