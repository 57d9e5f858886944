// Matchers for absl::Status and absl::StatusOr that failed.
#ifndef SEXTANT_TESTS_GPU_PROBE_FAILURE_MATCHERS_H_
#define SEXTANT_TESTS_GPU_PROBE_FAILURE_MATCHERS_H_

#include <gmock/gmock.h>

#include <string>

#include "gpu_probe/exit_code.h"
#include "tests/support/status_matchers.h"

namespace sextant::probe {

// The message has the text `part`.
MATCHER_P(Says, part, "") {
  const absl::Status& status = sextant::StatusOf(arg);
  *result_listener << status;
  return ::testing::Value(std::string(status.message()), ::testing::HasSubstr(part));
}

MATCHER_P2(FailsSaying, code, part, "") {
  return sextant::StatusOf(arg).code() == code &&
         ::testing::ExplainMatchResult(Says(part), arg, result_listener);
}

// A failure as the program reports it: kind and reason, and a part of the message.
MATCHER_P2(IsFailure, kind, reason, "") {
  const absl::Status& status = sextant::StatusOf(arg);
  *result_listener << status;
  if (status.ok()) return false;
  const v1::ProbeFailure failure = FailureOf(status);
  return failure.kind() == kind && failure.reason() == reason;
}
MATCHER_P3(IsFailure, kind, reason, part, "") {
  return ::testing::ExplainMatchResult(::testing::AllOf(IsFailure(kind, reason), Says(part)), arg,
                                       result_listener);
}

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_FAILURE_MATCHERS_H_
