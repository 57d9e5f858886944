// Helpers that translators share: texts, intervals, enums' short names, limits of numbers, and
// messages of which exactly one field is given.
#ifndef SEXTANT_SERVER_CONVERT_MESSAGE_FIELDS_H_
#define SEXTANT_SERVER_CONVERT_MESSAGE_FIELDS_H_

#include <google/protobuf/duration.pb.h>
#include <google/protobuf/message.h>
#include <google/protobuf/timestamp.pb.h>

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/base/interval.h"
#include "proto/check/number_limits.h"
#include "sextant/v1/interval.pb.h"

namespace sextant::server {

// Setters of messages take no views.
inline std::string Text(absl::string_view text) { return std::string(text); }

// `name` without `prefix`, in lower case: "fp32" of DATA_TYPE_FP32.
std::string EnumLabel(absl::string_view name, absl::string_view prefix);

// Adds what `limits`, of the type of `message`, say of its numbers. `message` stands at `path`.
void CheckNumbers(const check::NumberLimits& limits, const google::protobuf::Message& message,
                  absl::string_view path, FieldViolations& violations);

template <typename Tag, typename Rep>
void IntervalTo(const Interval<Quantity<Tag, Rep>>& interval, v1::Interval* out) {
  out->set_expected(static_cast<double>(interval.expected.value()));
  out->set_low(static_cast<double>(interval.low.value()));
  out->set_high(static_cast<double>(interval.high.value()));
}

// The seconds of a duration that is not negative; one out of shape is a violation of `field`.
absl::optional<double> SecondsFrom(const google::protobuf::Duration& duration,
                                   absl::string_view field, FieldViolations& violations);

// True for an instant that google.protobuf.Timestamp's own rules allow.
bool IsSound(const google::protobuf::Timestamp& time);

// The text of a violation by one that is not.
inline constexpr char kUnsoundTimestamp[] =
    "must be from 0001-01-01 to 9999-12-31, with nanos from 0 to 999999999";

// Returns the name of the only field of `message`, which stands at `path`. Where it has none or
// several, adds a violation that lists the choices or the given ones. A oneof would silently keep
// the last of two.
absl::optional<std::string> OnlyFieldOf(const google::protobuf::Message& message,
                                        absl::string_view path, FieldViolations& violations);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_MESSAGE_FIELDS_H_
