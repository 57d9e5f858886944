// Matchers for absl::Status and absl::StatusOr.
#ifndef SEXTANT_TESTS_SUPPORT_STATUS_MATCHERS_H_
#define SEXTANT_TESTS_SUPPORT_STATUS_MATCHERS_H_

#include <gmock/gmock.h>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/field_violation.h"
#include "engine/base/reason.h"

namespace sextant {

inline const absl::Status& StatusOf(const absl::Status& status) { return status; }
template <typename T>
const absl::Status& StatusOf(const absl::StatusOr<T>& value) {
  return value.status();
}

MATCHER(IsOk, "is OK") {
  *result_listener << StatusOf(arg);
  return StatusOf(arg).ok();
}

MATCHER_P2(Fails, code, reason, "") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status << ", reason " << (status.ok() ? "none" : ReasonOf(status));
  return status.code() == code && ReasonOf(status) == reason;
}

// kInvalidArgument, FIELD_INVALID, whose violations' fields match `fields`, a matcher of a
// container of strings.
MATCHER_P(NamesFields, fields, "") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status;
  if (status.code() != absl::StatusCode::kInvalidArgument) return false;
  if (ReasonOf(status) != "FIELD_INVALID") return false;
  std::vector<std::string> named;
  for (const FieldViolation& v : FieldViolationsOf(status)) named.push_back(v.field);
  return ::testing::ExplainMatchResult(fields, named, result_listener);
}

// kInvalidArgument, FIELD_INVALID, with a violation of `field` whose description matches.
MATCHER_P2(HasViolation, field, description, "") {
  const absl::Status& status = StatusOf(arg);
  *result_listener << status;
  if (ReasonOf(status) != "FIELD_INVALID") return false;
  for (const FieldViolation& v : FieldViolationsOf(status)) {
    if (v.field == field && ::testing::Value(v.description, description)) return true;
  }
  return false;
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_SUPPORT_STATUS_MATCHERS_H_
