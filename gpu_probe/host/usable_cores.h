// Cores that this process may run on.
#ifndef SEXTANT_GPU_PROBE_HOST_USABLE_CORES_H_
#define SEXTANT_GPU_PROBE_HOST_USABLE_CORES_H_

#include <string>
#include <vector>

#include "absl/types/optional.h"

namespace sextant {

struct CoreSet {
  // The system's number of one processor of each core.
  std::vector<int> numbers;
  // Whether threads should stay on them. Where the process may use only a share of their time,
  // others that have another share may well be on the first cores too.
  bool pinned = true;
};

// The cores that the process may run on, at least one. Of processors that are threads of one
// core (SMT) the first: kernels that keep a core's units busy with one thread gain nothing by a
// second, and frameworks start one a core. Where the control group's time is limited to
// `core_quota` cores' worth, only as many as that pays for, rounded down: more threads would be
// stopped in turn, and their times would be of waits. Reads /sys below `root` ("" is this host's
// own root); where it does not tell of threads, each processor counts as a core.
CoreSet UsableCores(const std::string& root, absl::optional<double> core_quota);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_USABLE_CORES_H_
