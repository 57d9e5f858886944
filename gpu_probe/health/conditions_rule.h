// What a device told of itself while it was measured: whether that is well, and whether it explains
// that the device is slow.
#ifndef SEXTANT_GPU_PROBE_HEALTH_CONDITIONS_RULE_H_
#define SEXTANT_GPU_PROBE_HEALTH_CONDITIONS_RULE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "gpu_probe/health/finding.h"
#include "gpu_probe/health/fleet.h"

namespace sextant {

// A clock that the hardware's own protection held down is CRITICAL, one that heat did a WARNING, in
// however few readings. The power limit holds it down under any load: that is no finding.
std::vector<Finding> FindThrottling(const v1::Calibration& calibration);

// "its clock was 20.0 % below its peers', 1404 MHz against 1755 MHz", for `whose` "its peers'";
// empty where the judged device's clock is no more than 1 % below the median of those
// `references` that tell theirs, or it tells none.
std::string LowClockText(const MeasuredDevice& judged,
                         absl::Span<const MeasuredDevice* const> references,
                         absl::string_view whose);

// The same of power, 3 % or more: "it drew 30.0 % less power than its peers, 490 W against 700 W".
std::string LowPowerText(const MeasuredDevice& judged,
                         absl::Span<const MeasuredDevice* const> references,
                         absl::string_view than_whom);

// Whether the clock is what the figure of that name goes by: not of passes over memory.
bool GoesByClock(absl::string_view figure);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_CONDITIONS_RULE_H_
