// What the server knows about its host's devices at one moment; never changed once made.
#ifndef SEXTANT_SERVER_CALIBRATION_SNAPSHOT_H_
#define SEXTANT_SERVER_CALIBRATION_SNAPSHOT_H_

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/device.pb.h"

namespace sextant {

struct StoredCalibration {
  v1::Calibration calibration;  // without the fields that the server fills
  std::string fingerprint;
};

struct CalibrationSnapshot {
  // Of this host, in the order in which the probe found them; until it has listed them, those
  // that have a calibration that was loaded and names this host.
  std::vector<v1::Device> devices;
  // At most one a device; devices that are gone, or another host's, may have theirs.
  std::vector<std::shared_ptr<const StoredCalibration>> calibrations;
  // UUIDs of the devices whose last probe had a wrong result: their calibration is withdrawn.
  std::set<std::string> distrusted;

  // The device with that UUID, or this host's processor for "host"; null: there is none.
  const v1::Device* FindDevice(absl::string_view uuid) const;

  // The calibration of the device with that UUID, or of this host's processor for "host";
  // null: never measured, distrusted, or no such device.
  const StoredCalibration* Find(absl::string_view uuid) const;
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_CALIBRATION_SNAPSHOT_H_
