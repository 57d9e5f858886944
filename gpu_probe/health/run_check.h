// `sextant-probe check`, but for the backends.
#ifndef SEXTANT_GPU_PROBE_HEALTH_RUN_CHECK_H_
#define SEXTANT_GPU_PROBE_HEALTH_RUN_CHECK_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gpu_probe/backend.h"

namespace sextant {

// Whether `args`, the program's name left out, are of `check` rather than of a measurement.
bool AsksForCheck(const std::vector<std::string>& args);

// Runs it on descriptors 0, 1 and 2, and returns its exit code: a HealthStatus, UNKNOWN for
// whatever keeps it from a verdict. Does not return where a measurement's hard deadline passes:
// the process ends then, UNKNOWN as well. Throws nothing.
int RunCheck(const std::vector<std::string>& args, absl::Span<const Backend> backends);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HEALTH_RUN_CHECK_H_
