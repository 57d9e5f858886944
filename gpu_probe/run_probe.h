// The program sextant-probe without its backends: what main() calls.
#ifndef SEXTANT_GPU_PROBE_RUN_PROBE_H_
#define SEXTANT_GPU_PROBE_RUN_PROBE_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gpu_probe/backend.h"

namespace sextant::probe {

// Runs the program with `args`, its name left out, on descriptors 0, 1 and 2, and returns its exit
// code. At the hard deadline it does not return: the process ends. Throws nothing: exceptions of
// backends become failures, REFUSED where memory ran out.
int RunProbe(const std::vector<std::string>& args, absl::Span<const Backend> backends);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_RUN_PROBE_H_
