// The verdict on devices: slow, not measured, or impossible to judge.
#ifndef SEXTANT_GPU_PROBE_HEALTH_VERDICT_H_
#define SEXTANT_GPU_PROBE_HEALTH_VERDICT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "gpu_probe/health/figures.h"
#include "gpu_probe/health/findings.h"
#include "gpu_probe/health/references.h"

namespace sextant::probe {

// One figure and its references.
struct FigureVerdict {
  std::string name;
  std::string unit;
  double value = 0;
  bool stable = true;
  absl::optional<HistoryReference> history = {};
  absl::optional<PeerReference> peers = {};
  double alarm_below = 0;  // a lower rate is CRITICAL; 0 where nothing was compared
};

struct DeviceVerdict {
  HealthStatus status = HealthStatus::kUnknown;
  v1::Device device;
  v1::ProbeMode mode = v1::PROBE_MODE_UNSPECIFIED;
  google::protobuf::Timestamp measured_time;
  double age_seconds = 0;
  int history_count = 0;  // earlier measurements that it may be compared with
  int peer_count = 0;     // devices that it may be compared with
  std::vector<FigureVerdict> figures;
  absl::optional<PeerReference> overall;
  std::vector<Finding> findings;   // the worst first
  std::vector<std::string> notes;  // full sentences: checks that were not made, and why
};

struct JudgeOptions {
  HealthLimits limits;
  int64_t now_unix_seconds = 0;
  std::string only_uuid = {};  // "": each device
};

// One for each requested device, in the order of `devices`. OK only where at least one figure was
// compared with a reference, and nothing was found.
std::vector<DeviceVerdict> JudgeDevices(const std::vector<KnownDevice>& devices,
                                        const JudgeOptions& options);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HEALTH_VERDICT_H_
