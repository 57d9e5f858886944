#include "server/convert/calibration_clock.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/utc_text.h"
#include "engine/run/run_spec.h"

namespace sextant {
namespace {

constexpr int64_t kLastUnixSecond = 253'402'300'799;  // 9999-12-31, google.protobuf.Timestamp's

}  // namespace

void CheckNotAhead(const v1::Calibration& calibration, absl::string_view path, absl::Time now,
                   FieldViolations& violations) {
  const std::string field = FieldPath(path, "measured_time");
  const auto& wire = calibration.measured_time();
  if (violations.Mentions(field) || wire.seconds() > kLastUnixSecond) return;  // no instant
  const absl::Time measured =
      absl::FromUnixSeconds(wire.seconds()) + absl::Nanoseconds(wire.nanos());
  if (measured <= now + kMostClockSkew) return;
  violations.Add(field, absl::StrCat("is ", UtcText(wire.seconds()), ", and this server's clock ",
                                     "says ", UtcText(absl::ToUnixSeconds(now)),
                                     ": compare the clocks, or measure the device again"));
}

void CheckNoneAhead(const google::protobuf::RepeatedPtrField<v1::Calibration>& calibrations,
                    absl::string_view path, absl::Time now, FieldViolations& violations) {
  if (calibrations.size() > kMaxCalibrations) return;
  for (int i = 0; i < calibrations.size(); ++i) {
    CheckNotAhead(calibrations[i], absl::StrCat(path, "[", i, "]"), now, violations);
  }
}

}  // namespace sextant
