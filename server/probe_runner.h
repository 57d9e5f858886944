// Runs sextant-probe once, to its end or until it has to be killed.
#ifndef SEXTANT_SERVER_PROBE_RUNNER_H_
#define SEXTANT_SERVER_PROBE_RUNNER_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/cancellation.h"
#include "server/probe_output.h"

namespace sextant {

struct ProbeRun {
  std::string program = "";  // its path
  std::vector<std::string> arguments = {};
  double deadline_seconds = 0;   // when it is killed, results or not; > 0
  double silence_seconds = 0;    // how long it may go without a whole line; > 0
  std::string late_advice = "";  // what to do about a deadline, e.g. "try again"
};

// Runs the program of `run`, calls `on_event` on this thread for each event that it writes, and
// returns OK once it has ended well with a result. The program and all that it started in its
// process group are gone when this returns, unless they hang within the kernel.
//
// Errors: kCancelled (PROBE_CANCELLED) once `cancellation` asks for it; all others of
// probe_fault.h, each saying what happened and what to do.
absl::Status RunProbe(const ProbeRun& run, const Cancellation& cancellation,
                      ProbeEventCallback on_event);

}  // namespace sextant

#endif  // SEXTANT_SERVER_PROBE_RUNNER_H_
