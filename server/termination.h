// The process's signals: SIGTERM and SIGINT are waited for rather than handled.
#ifndef SEXTANT_SERVER_TERMINATION_H_
#define SEXTANT_SERVER_TERMINATION_H_

#include <csignal>

namespace sextant {

// Blocks SIGTERM and SIGINT in this thread and all that it starts, ignores SIGPIPE, and leaves
// the ends of children to be waited for, whatever the program's starter had set. Call it before
// any other thread starts, gRPC's included: they inherit the mask, so that only
// WaitForTermination() ever sees the signals.
sigset_t PrepareSignals();

// Waits until one of `signals` arrives. From then on a further one ends the process at once.
void WaitForTermination(const sigset_t& signals);

}  // namespace sextant

#endif  // SEXTANT_SERVER_TERMINATION_H_
