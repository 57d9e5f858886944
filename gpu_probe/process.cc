#include "gpu_probe/process.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>

namespace sextant::probe {
namespace {

constexpr int kBackgroundNice = 10;

}  // namespace

void PrepareProcess() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // A pipe without a reader, since /dev/null may not exist: reads end, writes fail.
  for (int wanted = 0; wanted <= 2; ++wanted) {
    if (fcntl(wanted, F_GETFD) >= 0) continue;
    int ends[2] = {-1, -1};
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    // Lower descriptors are taken, so one of the ends has become `wanted`.
    const int wanted_end = wanted == 0 ? ends[0] : ends[1];
    dup2(wanted_end, wanted);
    for (const int end : ends) {
      if (end != wanted) close(end);
    }
  }
}

bool FollowParent(int64_t parent_pid) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  // A parent that ended before that call sends no signal.
  if (static_cast<int64_t>(getppid()) != parent_pid) return false;
  // Failing to do these is harmless.
  (void)setpriority(PRIO_PROCESS, 0, kBackgroundNice);
  const rlimit none = {.rlim_cur = 0, .rlim_max = 0};
  (void)setrlimit(RLIMIT_CORE, &none);
  return true;
}

}  // namespace sextant::probe
