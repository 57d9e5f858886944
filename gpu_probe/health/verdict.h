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
#include "gpu_probe/health/slow_figures.h"

namespace sextant::probe {

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
// compared with a reference, and nothing was found. That a figure is slow is CRITICAL only where
// JudgeFigures() found it so in `limits.in_a_row` measurements in a row.
std::vector<DeviceVerdict> JudgeDevices(const std::vector<KnownDevice>& devices,
                                        const JudgeOptions& options);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HEALTH_VERDICT_H_
