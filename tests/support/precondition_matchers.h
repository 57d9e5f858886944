// Matchers for failed preconditions.
#ifndef SEXTANT_TESTS_SUPPORT_PRECONDITION_MATCHERS_H_
#define SEXTANT_TESTS_SUPPORT_PRECONDITION_MATCHERS_H_

#include <gmock/gmock.h>

#include "engine/base/reason.h"

namespace sextant {

// A PreconditionViolation about `subject`, whose rates were not measured, with a description that
// matches `description`.
MATCHER_P2(Misses, subject, description, "") {
  return arg.type == "RATES_NOT_MEASURED" && arg.subject == subject &&
         ::testing::ExplainMatchResult(description, arg.description, result_listener);
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_SUPPORT_PRECONDITION_MATCHERS_H_
