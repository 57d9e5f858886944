#include "server/termination.h"

namespace sextant {

sigset_t PrepareSignals() {
  std::signal(SIGPIPE, SIG_IGN);
  // Where it is ignored, which outlives an exec, the system lets no one know how a child ended.
  std::signal(SIGCHLD, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  return set;
}

void WaitForTermination(const sigset_t& signals) {
  int signal_number = 0;
  sigwait(&signals, &signal_number);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace sextant
