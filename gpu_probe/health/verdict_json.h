// A report for programs.
#ifndef SEXTANT_GPU_PROBE_HEALTH_VERDICT_JSON_H_
#define SEXTANT_GPU_PROBE_HEALTH_VERDICT_JSON_H_

#include <string>

#include "gpu_probe/health/report.h"

namespace sextant {

// One line; docs/health.md explains its fields. What was not compared is absent, not null.
std::string ReportJson(const CheckReport& report);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_VERDICT_JSON_H_
