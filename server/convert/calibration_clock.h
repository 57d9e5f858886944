// Calibrations that were measured later than it is.
#ifndef SEXTANT_SERVER_CONVERT_CALIBRATION_CLOCK_H_
#define SEXTANT_SERVER_CONVERT_CALIBRATION_CLOCK_H_

#include <google/protobuf/repeated_field.h>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "engine/base/field_violation.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// How far another host's clock may be ahead of this one's.
inline constexpr absl::Duration kMostClockSkew = absl::Minutes(5);

// Adds a violation of measured_time below `path` where `calibration` was measured more than
// kMostClockSkew after `now`: one of the two clocks is wrong, and nothing says which.
void CheckNotAhead(const v1::Calibration& calibration, absl::string_view path, absl::Time now,
                   FieldViolations& violations);

// Of each of a list; one that is too long is left to others.
void CheckNoneAhead(const google::protobuf::RepeatedPtrField<v1::Calibration>& calibrations,
                    absl::string_view path, absl::Time now, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_CALIBRATION_CLOCK_H_
