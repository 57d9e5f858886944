// Cores that this process may run on.
#ifndef SEXTANT_GPU_PROBE_HOST_USABLE_CORES_H_
#define SEXTANT_GPU_PROBE_HOST_USABLE_CORES_H_

#include <vector>

#include "absl/types/optional.h"

namespace sextant {

// The system's numbers of the cores that the process may run on, at least one. Where the
// control group's time is limited to `core_quota` cores' worth, only as many as that pays
// for, rounded down: more threads would be stopped in turn, and their times would be of waits.
std::vector<int> UsableCores(absl::optional<double> core_quota);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_USABLE_CORES_H_
