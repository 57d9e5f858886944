// Sizes that the wire may leave out.
#ifndef SEXTANT_SERVER_CONVERT_OPTIONAL_SIZE_H_
#define SEXTANT_SERVER_CONVERT_OPTIONAL_SIZE_H_

#include <cstdint>
#include <string>

#include "engine/base/field_violation.h"

namespace sextant {

// A size for which the engine's 0 stands for the default: one that is present and 0 is a mistake,
// not a default. `field` writes the path where it is needed.
template <typename Field>
int64_t SizeOrDefault(bool present, int64_t value, const Field& field,
                      FieldViolations& violations) {
  if (present && value == 0) {
    violations.Add(field(), "must be at least 1, or left out for its default");
  }
  return value;
}

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_OPTIONAL_SIZE_H_
