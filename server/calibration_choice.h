// Which of a device's calibrations is in use: one rule, for plans and for all that show a device.
#ifndef SEXTANT_SERVER_CALIBRATION_CHOICE_H_
#define SEXTANT_SERVER_CALIBRATION_CHOICE_H_

#include <cstddef>
#include <string>

#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"

namespace sextant {

// An older calibration serves only where no younger one does.
inline constexpr absl::Duration kMaxCalibrationAge = absl::Hours(30 * 24);

// What changes a device's rates without its being another device.
struct DeviceState {
  std::string driver_version = {};                // "": it tells none, as a processor
  absl::optional<double> power_limit_watts = {};  // absent: it tells none
};

// Whether rates that were measured in one state hold in the other: the same driver, and power
// limits at most 1 W apart, since drivers round them (docs/health.md). Absent equals absent.
bool IsSameState(const DeviceState& a, const DeviceState& b);

// What the rule looks at.
struct CalibrationFacts {
  int thoroughness = 0;       // of its mode: 1 quick, 2 standard, 3 full
  double coverage_ratio = 0;  // share of its mode's points that were measured
  bool stable = false;        // the rates that most plans stand on are
  absl::Time measured = {};
  DeviceState state = {};  // of the device meanwhile
};

// For which device, and when.
struct CalibrationDemand {
  DeviceState state = {};  // of the device now
  absl::Time now = {};
  absl::Duration maximum_age = kMaxCalibrationAge;
};

// What decides between two calibrations, in this order.
enum class CalibrationMerit {
  kFits,    // measured in the device's present state, at most maximum_age old, not in the future
  kStable,  // stable before unstable
  kFuller,  // the more thorough mode; within a mode the higher coverage
  kNewer    // the later; of two that don't fit this comes first
};

// Which of two calibrations is the better, and by what.
struct CalibrationPreference {
  bool first = true;  // where they are alike, too
  CalibrationMerit merit = CalibrationMerit::kNewer;
};
CalibrationPreference Prefer(const CalibrationFacts& first, const CalibrationFacts& second,
                             const CalibrationDemand& demand);

// The index of the best of `all`, which has at least one.
size_t ChooseCalibration(absl::Span<const CalibrationFacts* const> all,
                         const CalibrationDemand& demand);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CALIBRATION_CHOICE_H_
