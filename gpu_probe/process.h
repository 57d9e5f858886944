// How this process stands to the system and to the one that started it.
#ifndef SEXTANT_GPU_PROBE_PROCESS_H_
#define SEXTANT_GPU_PROBE_PROCESS_H_

#include <cstdint>

namespace sextant {

// Ignores SIGPIPE and SIGXFSZ, so that a write that they are of fails instead, and opens what is
// closed of the descriptors 0, 1 and 2, so that no file that is opened later takes the place of
// the output. Call it first.
void PrepareProcess();

// Ends this process when `parent_pid`, which has to be its parent, ends; lowers its priority,
// so that it yields to the host's work; leaves no core file. False where the parent is another,
// i.e. has ended already.
bool FollowParent(int64_t parent_pid);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_PROCESS_H_
