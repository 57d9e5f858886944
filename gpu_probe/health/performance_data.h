// Figures for a monitoring system's graphs.
#ifndef SEXTANT_GPU_PROBE_HEALTH_PERFORMANCE_DATA_H_
#define SEXTANT_GPU_PROBE_HEALTH_PERFORMANCE_DATA_H_

#include <string>

#include "gpu_probe/health/report.h"

namespace sextant {

// What comes after the "|" of a plugin's first line, by the Monitoring Plugins Guidelines:
// 'label'=value[UOM];[warn];[crit];[min];[max], blanks between. Of one device each figure, the
// unit in its label, "crit" the rate below which it is CRITICAL; of several how many are how well,
// and, of at most 32, so that the line stays short, the lowest ratio of each to what it was
// compared with.
// Empty where nothing was judged.
std::string PerformanceData(const CheckReport& report);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_PERFORMANCE_DATA_H_
