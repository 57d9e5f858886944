// The server's knowledge of its host's devices at one time, and the rule that chooses which of a
// device's calibrations is in use, for plans and for all that show a device.
#ifndef SEXTANT_SERVER_STORE_CALIBRATION_SNAPSHOT_H_
#define SEXTANT_SERVER_STORE_CALIBRATION_SNAPSHOT_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "engine/hardware/device_model.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/device.pb.h"

namespace sextant::server {

// An older calibration is used only where there is no younger one.
inline constexpr absl::Duration kMaxCalibrationAge = absl::Hours(30 * 24);

// The settings of a device that change its rates.
struct DeviceState {
  std::string driver_version = {};                // "": not reported, as by a processor
  absl::optional<double> power_limit_watts = {};  // absent: not reported
};

// True where rates that were measured in one state hold in the other: the same driver, and power
// limits at most 1 W apart, since drivers round them (docs/health.md). Absent equals absent.
bool IsSameState(const DeviceState& a, const DeviceState& b);

// The properties of a calibration that the choice depends on.
struct CalibrationFacts {
  int thoroughness = 0;       // of its mode: 1 quick, 2 standard, 3 full
  double coverage_ratio = 0;  // share of its mode's points that were measured
  bool stable = false;        // of the rates that most plans use
  absl::Time measured = {};
  DeviceState state = {};  // of the device while it was measured
};

// The device's present state, the time, and the age limit.
struct CalibrationDemand {
  DeviceState state = {};  // of the device now
  absl::Time now = {};
  absl::Duration maximum_age = kMaxCalibrationAge;
};

// The criteria that decide between two calibrations, in this order.
enum class CalibrationMerit {
  kFits,    // measured in the device's present state, at most maximum_age old, not in the future
  kStable,  // stable before unstable
  kFuller,  // the more thorough mode; within a mode the higher coverage
  kNewer    // the later; among calibrations that don't fit this criterion comes first
};

// The better of two calibrations, and the criterion that decides.
struct CalibrationPreference {
  bool first = true;  // also where they are alike
  CalibrationMerit merit = CalibrationMerit::kNewer;
};
CalibrationPreference Prefer(const CalibrationFacts& first, const CalibrationFacts& second,
                             const CalibrationDemand& demand);

// The index of the best of `all`, which has at least one.
size_t ChooseCalibration(absl::Span<const CalibrationFacts* const> all,
                         const CalibrationDemand& demand);

struct StoredCalibration {
  v1::Calibration calibration;  // without the fields that the server fills
  std::string fingerprint;
  std::shared_ptr<const DeviceModel> model;  // never null
  CalibrationFacts facts = {};
};

// Returns `calibration`, which is valid, with the values derived from it.
std::shared_ptr<const StoredCalibration> StoredFrom(v1::Calibration calibration);

// The state that a device reports.
DeviceState StateOf(const v1::Device& device);

// When a calibration is asked for, and how old it may be.
struct CalibrationQuery {
  absl::Time now = {};
  // The request's; one beyond kMaxCalibrationAge changes nothing.
  absl::optional<absl::Duration> maximum_age = {};

  // The earliest second in which a calibration may have been measured; absent: any.
  absl::optional<int64_t> OldestUnixSeconds() const;
};

// The calibrations kept of one device: at most one a mode, at least one.
struct DeviceCalibrations {
  v1::Device device;                                // as it was measured last
  absl::Time last_measured = absl::InfinitePast();  // also where that calibration was not kept
  bool last_stable = false;                         // CalibrationFacts.stable of that calibration
  std::vector<std::shared_ptr<const StoredCalibration>> by_mode;  // no order

  // Null: there is none of that mode.
  std::shared_ptr<const StoredCalibration> OfMode(v1::ProbeMode mode) const;
};

struct CalibrationSnapshot {
  // This host's devices in the order in which the probe found them, each as the list or its last
  // measurement reported it, whichever is later. Until the probe has listed them: the devices of
  // loaded calibrations that name this host.
  std::vector<v1::Device> devices;
  bool is_listed = false;  // the probe has listed them: `devices` are all
  // One element a device; may include devices that are gone, and other hosts'.
  std::vector<DeviceCalibrations> calibrations;
  // UUIDs of the devices whose last probe had a wrong result: their calibrations are withdrawn.
  std::set<std::string> distrusted;

  // The device with that UUID, or this host's processor for "host"; null: there is none.
  const v1::Device* FindDevice(absl::string_view uuid) const;

  // The calibrations kept of the device with that UUID, or of this host's processor for "host";
  // null: never measured, distrusted, or no such device.
  const DeviceCalibrations* FindAll(absl::string_view uuid) const;

  // The calibration in use of `kept`, an element of calibrations.
  std::shared_ptr<const StoredCalibration> InUse(const DeviceCalibrations& kept,
                                                 const CalibrationQuery& query) const;

  // The model of the calibration in use, of every device that is not distrusted. Lives as long as
  // the snapshot.
  std::vector<const DeviceModel*> TrustedModels(const CalibrationQuery& query) const;

  // InUse() of FindAll(); null where FindAll() is. Lives as long as the snapshot.
  const StoredCalibration* Find(absl::string_view uuid, const CalibrationQuery& query) const;
};

// The time of the measurement, in Unix seconds.
double MeasuredUnixSeconds(const v1::Calibration& calibration);

// Seconds from the measurement to `now`; negative where the clock has been set back since, and the
// measurement appears to be in the future.
double CalibrationAgeSeconds(const v1::Calibration& calibration,
                             std::chrono::system_clock::time_point now);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_STORE_CALIBRATION_SNAPSHOT_H_
