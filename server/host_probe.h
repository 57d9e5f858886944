// Everything that the server does with this host's probe: lists devices, measures them one
// probe at a time, keeps what was measured.
#ifndef SEXTANT_SERVER_HOST_PROBE_H_
#define SEXTANT_SERVER_HOST_PROBE_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/calibration_store.h"
#include "server/cancellation.h"
#include "server/convert/probe_spec.h"
#include "server/device_list.h"
#include "server/probe_metrics.h"
#include "server/probe_recorder.h"
#include "server/probe_slot.h"
#include "server/probe_worker.h"
#include "sextant/v1/hardware_service.pb.h"

namespace sextant {

// A call's wish to measure. The callbacks run on any thread.
struct ProbeJob {
  v1::RunProbeRequest request = {};
  std::shared_ptr<Cancellation> cancellation = nullptr;  // kills the probe
  SendProbeResponse send = nullptr;
  std::function<void(const absl::Status&)> end = nullptr;  // once, after the last send()
};

struct ProbeProgram {
  std::string path = "";            // of sextant-probe; empty: it is looked for each time
  std::string library_folder = "";  // of CUDA's libraries, passed to it; empty: it looks for them
};

// Thread-safe.
class HostProbe {
 public:
  // `store` and `metrics` outlive it.
  HostProbe(ProbeProgram program, CalibrationStore& store, ProbeMetrics& metrics);

  // DeviceList::WhenListed().
  void WhenListed(std::function<void(const absl::Status&)> done);

  // Measures what `job` asks for, one device after another, each by a probe of its own, and sends
  // what each found once it has ended. A device that can't be measured keeps no other from it.
  // Ends the job with OK; with one of ProbeSpecFrom()'s or ProbeSlot::Take()'s errors; or with
  // RunProbe()'s of the first device that could not be measured, PROBE_CANCELLED before all others.
  void Run(ProbeJob job);

  // Kills the probe that runs and starts none any more: jobs end with PROBE_CANCELLED.
  void Stop() { worker_.Stop(); }

 private:
  std::string Path() const;
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

}  // namespace sextant

#endif  // SEXTANT_SERVER_HOST_PROBE_H_
