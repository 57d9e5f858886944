// The fields that violations name, for tests.
#ifndef SEXTANT_TESTS_SUPPORT_FIELD_NAMES_H_
#define SEXTANT_TESTS_SUPPORT_FIELD_NAMES_H_

#include <string>
#include <vector>

#include "engine/base/field_violation.h"

namespace sextant {

// The fields, in order.
inline std::vector<std::string> FieldsOf(const FieldViolations& violations) {
  std::vector<std::string> out;
  for (const FieldViolation& v : violations.all()) out.push_back(v.field);
  return out;
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_SUPPORT_FIELD_NAMES_H_
