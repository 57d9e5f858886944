// The program sextant-probe without its backends: what main() calls, and what it asks of the
// system.
#ifndef SEXTANT_GPU_PROBE_RUN_PROBE_H_
#define SEXTANT_GPU_PROBE_RUN_PROBE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "gpu_probe/backend.h"

namespace sextant::probe {

// Runs the program with `args`, its name left out, on descriptors 0, 1 and 2, and returns its exit
// code. At the hard deadline it does not return: the process ends. Throws nothing: exceptions of
// backends become failures, REFUSED where memory ran out.
int RunProbe(const std::vector<std::string>& args, absl::Span<const Backend> backends);

// Ignores SIGPIPE and SIGXFSZ, so that such writes fail instead, and opens those of the descriptors
// 0, 1 and 2 that are closed, so that no file opened later takes the place of the output. Call it
// first.
void PrepareProcess();

// Ends this process when `parent_pid`, which has to be its parent, ends; lowers its priority, so
// that it yields to the host's work; disables core files. Returns false where the parent is another
// process, i.e. has ended already.
bool FollowParent(int64_t parent_pid);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_RUN_PROBE_H_
