// The report of a check, as a monitoring plugin's text and as JSON for programs.
#ifndef SEXTANT_GPU_PROBE_HEALTH_REPORT_H_
#define SEXTANT_GPU_PROBE_HEALTH_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gpu_probe/health/read_calibrations.h"
#include "gpu_probe/health/verdict.h"

namespace sextant::probe {

struct CheckReport {
  std::vector<DeviceVerdict> devices;
  std::vector<InputProblem> problems;
  std::vector<std::string> notes;
  int64_t now_unix_seconds = 0;
};

// The worst status. UNKNOWN where nothing was judged: silence is not health.
inline HealthStatus StatusOf(const CheckReport& report) {
  HealthStatus status = report.devices.empty() ? HealthStatus::kUnknown : HealthStatus::kOk;
  for (const DeviceVerdict& device : report.devices) status = Worse(status, device.status);
  for (const InputProblem& problem : report.problems) status = Worse(status, problem.status);
  return status;
}

// The first line is "SEXTANT OK - ... | performance data". Then, as long text, comes a paragraph a
// device with its findings and the checks that were not made, and for a single device all figures.
// There is no other "|", and no character that controls a terminal.
std::string ReportText(const CheckReport& report);

// The text after the "|" of a plugin's first line, by the Monitoring Plugins Guidelines:
// 'label'=value[UOM];[warn];[crit];[min];[max], separated by blanks. For one device: each figure,
// with the unit in its label, as "warn" the rate below which it is slow, and as "crit" the one
// below which it is CRITICAL if it was so before. For several: the number of devices of each status
// and, for at most 32 devices, so that the line stays short, each one's lowest ratio to a
// reference. Empty where nothing was judged.
std::string PerformanceData(const CheckReport& report);

// One line; docs/health.md explains its fields. Comparisons that were not made are absent, not
// null.
std::string ReportJson(const CheckReport& report);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HEALTH_REPORT_H_
