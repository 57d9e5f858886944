// The thread on which probes run, one after the other.
#ifndef SEXTANT_SERVER_PROBE_WORKER_H_
#define SEXTANT_SERVER_PROBE_WORKER_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "server/cancellation.h"

namespace sextant {

// Thread-safe. Its thread outlives every child that a task starts on it.
class ProbeWorker {
 public:
  ProbeWorker();
  // Stop(), and waits for all tasks.
  ~ProbeWorker();
  ProbeWorker(const ProbeWorker&) = delete;
  ProbeWorker& operator=(const ProbeWorker&) = delete;

  // Runs `task`, which ends soon once `cancellation` asks for it, after those before it. Every
  // task runs, a cancelled one as well: it tells those who wait for it.
  void Post(std::shared_ptr<Cancellation> cancellation, std::function<void()> task);

  // Cancels the tasks that run or wait, and all that come later.
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

}  // namespace sextant

#endif  // SEXTANT_SERVER_PROBE_WORKER_H_
