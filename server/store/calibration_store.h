// The calibrations that this server holds, in memory and in a folder.
#ifndef SEXTANT_SERVER_STORE_CALIBRATION_STORE_H_
#define SEXTANT_SERVER_STORE_CALIBRATION_STORE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/store/calibration_snapshot.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/device.pb.h"

namespace sextant::server {

// This host's name, as the probe writes it to Device.hostname; empty where the system reports none.
std::string Hostname();

// Thread-safe. Plans read snapshot(), which never blocks.
//
// Keeps one calibration a mode of each device. Servers may share a folder: each reads a device's
// files again before it keeps a calibration of that device. Of two servers that write at the same
// time the later one's file stays.
class CalibrationStore {
 public:
  // Loads the files of `folder`; where it is empty, keeps calibrations in memory alone. A device's
  // file whose content can't be used is logged with the reason and renamed aside
  // ("x.full.json.damaged-1", "x.full.json.newer-1"); one that can't be read is logged and stays.
  // Neither is fatal, and no file is deleted. A calibration that was measured after `now`
  // (calibration_clock.h) is logged and not used: its file stays for a start with the right clock,
  // or until its device is measured again. `hostname` distinguishes this host's devices from those
  // of other hosts that used the folder.
  explicit CalibrationStore(std::string folder, std::string hostname = Hostname(),
                            absl::Time now = absl::Now());

  std::shared_ptr<const CalibrationSnapshot> snapshot() const { return snapshot_.load(); }

  // Takes up the files that were put into the folder since, as at the start; what is in use and
  // better stays.
  void ReadAgain(absl::Time now = absl::Now());

  // Sets this host's devices, in the order in which the probe found them. Until then they are the
  // devices of loaded calibrations that name this host.
  void SetDevices(std::vector<v1::Device> devices);

  struct Kept {
    std::shared_ptr<const StoredCalibration> stored = nullptr;  // the new one
    std::shared_ptr<const StoredCalibration> in_use = nullptr;  // of the device from now on
    std::shared_ptr<const StoredCalibration> better = nullptr;  // why `stored` is not kept
    CalibrationMerit merit = CalibrationMerit::kNewer;          // of `in_use` over `stored`
    std::string warning =
        "";  // why it won't outlast the server; empty: it was written, or not kept
  };
  // Keeps `calibration`, just measured, valid and without the fields that the server fills, in
  // place of the former one of its device and mode; not where the former one is better (Prefer()).
  Kept Keep(v1::Calibration calibration, absl::Time now = absl::Now());

  // After a wrong result: drops the device's calibrations of all modes, renames their files aside
  // ("x.full.json.mismatch-1"), and marks the device as distrusted in the snapshot until the next
  // Keep(), also across restarts.
  void Distrust(const std::string& uuid);

 private:
  void Load(absl::Time now);
  // Reads the files of all devices.
  void RefreshAll(absl::Time now);
  void LoadDistrusted(const std::string& uuid);
  void LoadFile(const std::string& path, absl::Time now);
  // Reads the changes that other servers made to the device's files.
  void Refresh(const std::string& uuid, absl::Time now);
  std::string Write(const v1::Calibration& calibration);
  absl::Status WriteFiles(const v1::Calibration& calibration);
  absl::Status Withdraw(const std::string& uuid);
  // Publishes a copy of the snapshot with `change` made to it.
  template <typename Change>
  void Publish(Change change);

  const std::string folder_;
  const std::string hostname_;
  std::mutex files_mutex_;            // held while files change; taken before mutex_
  std::set<std::string> obstructed_;  // files that can't be used and could not be moved
  std::mutex mutex_;                  // held while a snapshot is published: never for long
  std::atomic<std::shared_ptr<const CalibrationSnapshot>> snapshot_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_STORE_CALIBRATION_STORE_H_
