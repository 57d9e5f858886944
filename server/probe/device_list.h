// This host's devices, as the probe lists them.
#ifndef SEXTANT_SERVER_PROBE_DEVICE_LIST_H_
#define SEXTANT_SERVER_PROBE_DEVICE_LIST_H_

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/probe/probe_process.h"
#include "server/probe/probe_schedule.h"
#include "server/store/calibration_store.h"
#include "sextant/v1/device.pb.h"

namespace sextant::server {

// Returns the devices that `program --list` writes.
//
// Errors: RunProbe()'s.
absl::StatusOr<std::vector<v1::Device>> ListDevices(const std::string& program,
                                                    const Cancellation& cancellation);

// Returns "ok" where a GPU is among `devices`, which `program` listed; otherwise the probe's word
// for why there is none, "" where it gives no word.
std::string GpuState(const std::vector<v1::Device>& devices, const std::string& program,
                     const Cancellation& cancellation);

// Thread-safe. Lists once; after a failure, again on the next request.
class DeviceList {
 public:
  using Lister = std::function<absl::StatusOr<std::vector<v1::Device>>(const Cancellation&)>;

  // `worker` and `store` outlive it; `list` runs on the worker's thread.
  DeviceList(Lister list, ProbeWorker& worker, CalibrationStore& store);

  // Calls `done` once: with OK when the devices are in the store's snapshot (at once where they are
  // already, else on the worker's thread), or with the error of listing them.
  void WhenListed(std::function<void(const absl::Status&)> done);

 private:
  void List(const Cancellation& cancellation);

  const Lister list_;
  ProbeWorker& worker_;
  CalibrationStore& store_;
  std::mutex mutex_;
  bool listed_ = false;
  std::vector<std::function<void(const absl::Status&)>> waiting_;  // none: nobody lists
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_PROBE_DEVICE_LIST_H_
