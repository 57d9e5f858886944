// Runs sextant-probe once, to its end or until it has to be killed.
#ifndef SEXTANT_SERVER_PROBE_PROBE_PROCESS_H_
#define SEXTANT_SERVER_PROBE_PROBE_PROCESS_H_

#include <atomic>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "server/probe/probe_events.h"

namespace sextant::server {

// A request to stop, made on one thread and noticed on another.
class Cancellation {
 public:
  Cancellation();
  ~Cancellation();
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  // Thread-safe; can't be undone.
  void Cancel();
  bool cancelled() const { return cancelled_; }

  // Polls readable once cancelled. Negative where the system has no descriptor left: then only
  // cancelled() reports it.
  int fd() const { return fd_; }

 private:
  const int fd_;
  std::atomic<bool> cancelled_{false};
};

struct ProbeRun {
  std::string program = "";  // its path
  std::vector<std::string> arguments = {};
  double deadline_seconds = 0;                   // when it is killed, results or not; > 0
  double silence_seconds = 0;                    // how long it may go without a whole line; > 0
  size_t output_bytes = ProbeOutput::kMaxBytes;  // a longer output is garbage
  std::string late_advice = "";                  // what to do about a deadline, e.g. "try again"
};

// Runs the program of `run`, calls `on_event` on this thread for each event that it writes, and
// returns OK once it has ended well with a result. The program and its process group are gone when
// this returns, unless they hang within the kernel.
//
// Errors: kCancelled (PROBE_CANCELLED) once `cancellation` asks for it; all others of
// probe_events.h, each saying what happened and what to do.
absl::Status RunProbe(const ProbeRun& run, const Cancellation& cancellation,
                      ProbeEventCallback on_event);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_PROBE_PROBE_PROCESS_H_
