#include "client/measured_time.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/format.h"

namespace sextant {
namespace {

absl::Time TimeOf(const google::protobuf::Timestamp& instant) {
  return absl::FromUnixSeconds(instant.seconds()) + absl::Nanoseconds(instant.nanos());
}

}  // namespace

std::string InstantText(const google::protobuf::Timestamp& instant) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%S UTC", TimeOf(instant), absl::UTCTimeZone());
}

double AgeSeconds(const google::protobuf::Timestamp& instant, absl::Time now) {
  return absl::ToDoubleSeconds(now - TimeOf(instant));
}

std::string AgeText(double age_seconds) {
  if (!std::isfinite(age_seconds)) return "age not known";
  // Clocks of two hosts agree to a second or so.
  if (age_seconds < -1) return "in the future: compare the clocks";
  if (age_seconds < 60) return absl::StrFormat("%.0f s ago", std::abs(age_seconds));
  if (age_seconds < 3600) return absl::StrFormat("%.1f minutes ago", age_seconds / 60);
  if (age_seconds < 2 * 86400) return absl::StrFormat("%.1f hours ago", age_seconds / 3600);
  return absl::StrCat(Grouped(age_seconds / 86400, 1), " days ago");
}

}  // namespace sextant
