// When something was measured, and how long ago.
#ifndef SEXTANT_CLIENT_MEASURED_TIME_H_
#define SEXTANT_CLIENT_MEASURED_TIME_H_

#include <google/protobuf/timestamp.pb.h>

#include <string>

#include "absl/time/time.h"

namespace sextant {

// "2026-11-21 12:00:00 UTC".
std::string InstantText(const google::protobuf::Timestamp& instant);

// Seconds from `instant` to `now`.
double AgeSeconds(const google::protobuf::Timestamp& instant, absl::Time now);

// "45 s ago", "12.0 minutes ago", "3.2 hours ago", "5.1 days ago"; words where two clocks
// disagree so that the age is below 0.
std::string AgeText(double age_seconds);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_MEASURED_TIME_H_
