// All that one check has to say.
#ifndef SEXTANT_GPU_PROBE_HEALTH_REPORT_H_
#define SEXTANT_GPU_PROBE_HEALTH_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gpu_probe/health/read_calibrations.h"
#include "gpu_probe/health/verdict.h"

namespace sextant {

struct CheckReport {
  std::vector<DeviceVerdict> devices;
  std::vector<InputProblem> problems;
  std::vector<std::string> notes;
  int64_t now_unix_seconds = 0;
};

// The worst of all. UNKNOWN where nothing was judged: silence is not health.
inline HealthStatus StatusOf(const CheckReport& report) {
  HealthStatus status = report.devices.empty() ? HealthStatus::kUnknown : HealthStatus::kOk;
  for (const DeviceVerdict& device : report.devices) status = Worse(status, device.status);
  for (const InputProblem& problem : report.problems) status = Worse(status, problem.status);
  return status;
}

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_REPORT_H_
