// What the server knows about its host's devices at one moment; never changed once made.
#ifndef SEXTANT_SERVER_CALIBRATION_SNAPSHOT_H_
#define SEXTANT_SERVER_CALIBRATION_SNAPSHOT_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"
#include "server/calibration_choice.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/device.pb.h"

namespace sextant {

struct StoredCalibration {
  v1::Calibration calibration;  // without the fields that the server fills
  std::string fingerprint;
  CalibrationFacts facts = {};
};

// `calibration`, which is valid, with what is derived from it.
std::shared_ptr<const StoredCalibration> StoredFrom(v1::Calibration calibration);

// The state of a device as it tells it.
DeviceState StateOf(const v1::Device& device);

// When a calibration is asked for, and how old it may be.
struct CalibrationQuery {
  absl::Time now = {};
  // The request's; one beyond kMaxCalibrationAge changes nothing.
  absl::optional<absl::Duration> maximum_age = {};
};

// What is kept of one device: at most one calibration a mode, at least one.
struct DeviceCalibrations {
  v1::Device device;                                // as it was last measured
  absl::Time last_measured = absl::InfinitePast();  // also where that calibration was not kept
  std::vector<std::shared_ptr<const StoredCalibration>> by_mode;  // no order

  // Null: there is none of that mode.
  std::shared_ptr<const StoredCalibration> OfMode(v1::ProbeMode mode) const;
};

struct CalibrationSnapshot {
  // Of this host, in the order in which the probe found them, each as the list or its last
  // measurement had it, whichever came later. Until the probe has listed them: those that have a
  // calibration that was loaded and names this host.
  std::vector<v1::Device> devices;
  // One element a device; devices that are gone, or another host's, may have theirs.
  std::vector<DeviceCalibrations> calibrations;
  // UUIDs of the devices whose last probe had a wrong result: their calibrations are withdrawn.
  std::set<std::string> distrusted;

  // The device with that UUID, or this host's processor for "host"; null: there is none.
  const v1::Device* FindDevice(absl::string_view uuid) const;

  // What is kept of the device with that UUID, or of this host's processor for "host"; null: never
  // measured, distrusted, or no such device.
  const DeviceCalibrations* FindAll(absl::string_view uuid) const;

  // The one of `kept`, an element of calibrations, that is in use.
  std::shared_ptr<const StoredCalibration> InUse(const DeviceCalibrations& kept,
                                                 const CalibrationQuery& query) const;

  // InUse() of FindAll(); null where that is. Lives as long as the snapshot.
  const StoredCalibration* Find(absl::string_view uuid, const CalibrationQuery& query) const;
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_CALIBRATION_SNAPSHOT_H_
