// Messages of which exactly one field says what is meant. A oneof would keep the last of two
// in silence.
#ifndef SEXTANT_SERVER_CONVERT_EXACTLY_ONE_H_
#define SEXTANT_SERVER_CONVERT_EXACTLY_ONE_H_

#include <google/protobuf/message.h>

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"

namespace sextant {

// Whether `message`, which stands at `path`, has exactly one field; else adds a violation that
// lists those given, or those to choose from.
bool HasExactlyOneField(const google::protobuf::Message& message, absl::string_view path,
                        FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_EXACTLY_ONE_H_
