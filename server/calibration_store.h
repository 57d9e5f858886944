// The calibrations that this server holds, in memory and in a folder.
#ifndef SEXTANT_SERVER_CALIBRATION_STORE_H_
#define SEXTANT_SERVER_CALIBRATION_STORE_H_

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "server/calibration_snapshot.h"
#include "server/hostname.h"
#include "sextant/v1/calibration.pb.h"
#include "sextant/v1/device.pb.h"

namespace sextant {

// Thread-safe. Plans read snapshot(), which waits for nobody.
class CalibrationStore {
 public:
  // Loads what `folder` holds; no folder (empty): memory alone. A device's file whose content
  // can't be used is logged with the reason and renamed aside ("x.json.damaged-1",
  // "x.json.newer-1"), one that can't be read is logged and stays: never fatal, never deleted.
  // One that was measured after `now` (calibration_clock.h) is logged and not used: it stays for a
  // start with the right clock, or until its device is measured again.
  // `hostname` tells this host's devices from those of others that had the folder.
  explicit CalibrationStore(std::string folder, std::string hostname = Hostname(),
                            absl::Time now = absl::Now());

  std::shared_ptr<const CalibrationSnapshot> snapshot() const { return snapshot_.load(); }

  // This host's devices, in the order in which the probe found them; until then, those that
  // have a calibration that was loaded and names this host.
  void SetDevices(std::vector<v1::Device> devices);

  struct Kept {
    std::shared_ptr<const StoredCalibration> stored;
    std::string warning;  // why it won't outlast the server; empty where it was written
  };
  // Puts `calibration`, valid and without the fields that the server fills, in place of its
  // device's former one.
  Kept Keep(v1::Calibration calibration);

  // After a wrong result: forgets the device's calibration, sets its file aside
  // ("x.json.mismatch-1"), and has the snapshot call the device distrusted until the next
  // Keep(), over restarts too.
  void Distrust(const std::string& uuid);

 private:
  void Load(absl::Time now);
  void LoadDistrusted(const std::string& uuid);
  void LoadFile(const std::string& path, absl::Time now);
  std::string Write(const v1::Calibration& calibration);
  void Withdraw(const std::string& uuid);
  // Publishes a copy of the snapshot with `change` made to it; mutex_ is held.
  template <typename Change>
  void Publish(Change change);

  const std::string folder_;
  const std::string hostname_;
  std::mutex files_mutex_;            // held while files change; taken before mutex_
  std::set<std::string> obstructed_;  // UUIDs whose file can't be used and is still in its place
  std::mutex mutex_;                  // held while a snapshot is published: never for long
  std::atomic<std::shared_ptr<const CalibrationSnapshot>> snapshot_;
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_CALIBRATION_STORE_H_
