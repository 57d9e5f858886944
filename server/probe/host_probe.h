// The server's side of this host's probe: lists devices, measures them one probe at a time, keeps
// the results.
#ifndef SEXTANT_SERVER_PROBE_HOST_PROBE_H_
#define SEXTANT_SERVER_PROBE_HOST_PROBE_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/metrics/probe_metrics.h"
#include "server/probe/probe_process.h"
#include "server/probe/probe_recorder.h"
#include "server/probe/probe_schedule.h"
#include "server/probe/probe_spec.h"
#include "server/store/calibration_store.h"
#include "sextant/v1/device.pb.h"
#include "sextant/v1/hardware_service.pb.h"

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

// A call's request to measure. The callbacks run on any thread.
struct ProbeJob {
  v1::RunProbeRequest request = {};
  std::shared_ptr<Cancellation> cancellation = nullptr;  // kills the probe
  SendProbeResponse send = nullptr;
  std::function<void(const absl::Status&)> end = nullptr;  // once, after the last send()
};

struct ProbeProgram {
  std::string path = "";            // of sextant-probe; empty: it is looked for each time
  std::string library_folder = "";  // of CUDA's libraries, passed to it; empty: it looks for them
  std::string hostname = "";        // of this host's devices; empty: as the probe says
  bool off = false;                 // nothing is listed or measured
};

// Thread-safe.
class HostProbe {
 public:
  // `store` and `metrics` outlive it.
  HostProbe(ProbeProgram program, CalibrationStore& store, ProbeMetrics& metrics);

  // DeviceList::WhenListed().
  void WhenListed(std::function<void(const absl::Status&)> done);

  // Measures the devices of `job` one after another, each by a probe of its own, and sends each
  // result when its probe has ended. A device that can't be measured does not stop the others. Ends
  // the job with OK; with one of ProbeSpecFrom()'s or ProbeSlot::Take()'s errors; or with
  // RunProbe()'s error of the first device that could not be measured, PROBE_CANCELLED before all
  // others.
  void Run(ProbeJob job);

  // Kills the running probe and starts no more: jobs end with PROBE_CANCELLED.
  void Stop() { worker_.Stop(); }

 private:
  std::string Path() const;
  void Name(v1::Device& device) const;
  absl::StatusOr<std::vector<v1::Device>> List(const Cancellation& stop);
  absl::Status Admit(const ProbeJob& job);
  void Measure(const ProbeJob& job, const ProbeSpec& spec);
  absl::Status MeasureDevice(const ProbeJob& job, const ProbeSpec& spec,
                             const RecordedDevice& device);

  const ProbeProgram program_;
  CalibrationStore& store_;
  ProbeMetrics& metrics_;
  ProbeSlot slot_;
  DeviceList devices_;
  ProbeWorker worker_;  // last: its thread ends before what its tasks use
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_PROBE_HOST_PROBE_H_
