// This process's relation to the system and to its parent.
#ifndef SEXTANT_GPU_PROBE_PROCESS_H_
#define SEXTANT_GPU_PROBE_PROCESS_H_

#include <cstdint>

namespace sextant::probe {

// Ignores SIGPIPE and SIGXFSZ, so that such writes fail instead, and opens those of the descriptors
// 0, 1 and 2 that are closed, so that no file opened later takes the place of the output. Call it
// first.
void PrepareProcess();

// Ends this process when `parent_pid`, which has to be its parent, ends; lowers its priority, so
// that it yields to the host's work; disables core files. Returns false where the parent is another
// process, i.e. has ended already.
bool FollowParent(int64_t parent_pid);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_PROCESS_H_
