// The whole of sextant-probe but its backends: what main() calls.
#ifndef SEXTANT_GPU_PROBE_RUN_PROBE_H_
#define SEXTANT_GPU_PROBE_RUN_PROBE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gpu_probe/backend.h"

namespace sextant {

// Runs the program with `args`, its name left out, on descriptors 0, 1 and 2, and returns its
// exit code. Does not return where the hard deadline passes: the process ends then. Throws
// nothing: what the backends throw becomes a failure, REFUSED where memory ran out.
int RunProbe(const std::vector<std::string>& args, absl::Span<const Backend> backends);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_RUN_PROBE_H_
