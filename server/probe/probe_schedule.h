// The schedule of probes: how long each may run, one at a time, and on which thread.
#ifndef SEXTANT_SERVER_PROBE_PROBE_SCHEDULE_H_
#define SEXTANT_SERVER_PROBE_PROBE_SCHEDULE_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "absl/status/status.h"
#include "server/probe/probe_process.h"
#include "sextant/v1/probe.pb.h"

namespace sextant::server {

// Time limits of a probe.
struct ProbeBudget {
  double budget_seconds = 0;    // when the probe ends by itself
  double deadline_seconds = 0;  // when it is killed
  double silence_seconds = 0;   // how long it may write nothing
};

// The limits for one device in `mode`, with shapes of the caller's or without.
ProbeBudget ProbeBudgetOf(v1::ProbeMode mode, bool with_shapes);

// When to try again while another probe, of `budget_seconds` and `elapsed_seconds` old, runs: after
// the rest of its budget, at least a second, plus up to a quarter by `jitter`, 0 to 1, so that
// waiting callers don't all come back at once.
double ProbeRetrySeconds(double budget_seconds, double elapsed_seconds, double jitter);

// Admits one probe at a time: two would measure each other. Thread-safe.
class ProbeSlot {
 public:
  // Takes the slot for a probe of `budget_seconds`, until Release().
  //
  // Errors: kAborted with reason PROBE_RUNNING and a retry delay while another has it.
  absl::Status Take(double budget_seconds);
  void Release();

 private:
  std::mutex mutex_;
  bool taken_ = false;
  double budget_seconds_ = 0;  // of the probe that has it
  std::chrono::steady_clock::time_point start_;
  std::minstd_rand random_{std::random_device{}()};
};

// The thread on which probes run, one after the other. It outlives every child that a task starts
// on it. Thread-safe.
class ProbeWorker {
 public:
  ProbeWorker();
  // Stop(), and waits for all tasks.
  ~ProbeWorker();
  ProbeWorker(const ProbeWorker&) = delete;
  ProbeWorker& operator=(const ProbeWorker&) = delete;

  // Runs `task` after those before it; it has to end soon after `cancellation` is cancelled. Every
  // task runs, cancelled ones included: it answers those who wait for it.
  void Post(std::shared_ptr<Cancellation> cancellation, std::function<void()> task);

  // Cancels the tasks that run or wait, and all later ones.
  void Stop();

 private:
  struct Task {
    std::shared_ptr<Cancellation> cancellation;
    std::function<void()> run;
  };
  void Work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;                 // that wait
  std::shared_ptr<Cancellation> running_;  // null: none
  bool stopped_ = false;
  bool ended_ = false;  // no more tasks come
  std::thread thread_;
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_PROBE_PROBE_SCHEDULE_H_
