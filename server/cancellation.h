// A wish to stop, made on one thread and noticed on another.
#ifndef SEXTANT_SERVER_CANCELLATION_H_
#define SEXTANT_SERVER_CANCELLATION_H_

#include <atomic>

namespace sextant {

class Cancellation {
 public:
  Cancellation();
  ~Cancellation();
  Cancellation(const Cancellation&) = delete;
  Cancellation& operator=(const Cancellation&) = delete;

  // Thread-safe; for good.
  void Cancel();
  bool cancelled() const { return cancelled_; }

  // Polls readable once cancelled. Negative where the system has no descriptor left: then
  // only cancelled() tells.
  int fd() const { return fd_; }

 private:
  const int fd_;
  std::atomic<bool> cancelled_{false};
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_CANCELLATION_H_
