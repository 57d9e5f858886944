// A report as a monitoring plugin says it.
#ifndef SEXTANT_GPU_PROBE_HEALTH_VERDICT_TEXT_H_
#define SEXTANT_GPU_PROBE_HEALTH_VERDICT_TEXT_H_

#include <string>

#include "gpu_probe/health/report.h"

namespace sextant {

// First line: "SEXTANT OK - ... | performance data"; then, as long text, a paragraph a device
// with what was found and what the verdict does not rest on, and of a single one all figures.
// There is no other "|", and no character that steers a terminal.
std::string ReportText(const CheckReport& report);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_VERDICT_TEXT_H_
