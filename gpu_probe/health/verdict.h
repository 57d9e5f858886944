// The verdict over devices: who is slow, who was not measured, who can't be judged.
#ifndef SEXTANT_GPU_PROBE_HEALTH_VERDICT_H_
#define SEXTANT_GPU_PROBE_HEALTH_VERDICT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "gpu_probe/health/finding.h"
#include "gpu_probe/health/fleet.h"
#include "gpu_probe/health/history_rule.h"
#include "gpu_probe/health/peer_rule.h"

namespace sextant {

// One figure and all that it was compared with.
struct FigureVerdict {
  std::string name;
  std::string unit;
  double value = 0;
  bool stable = true;
  absl::optional<HistoryReference> history = {};
  absl::optional<PeerReference> peers = {};
  double alarm_below = 0;  // a lower rate would be CRITICAL; 0 where nothing was compared
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
  std::vector<std::string> notes;  // full sentences: what the verdict does not rest on, and why
};

struct JudgeOptions {
  HealthLimits limits;
  int64_t now_unix_seconds = 0;
  std::string only_uuid = {};  // "": each device
};

// One for each device that is asked for, in the order of `devices`. OK only where at least one
// figure was compared with something, and nothing was found.
std::vector<DeviceVerdict> JudgeDevices(const std::vector<KnownDevice>& devices,
                                        const JudgeOptions& options);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_VERDICT_H_
