// The calls that have begun and have no answer yet, and the end of them all.
#ifndef SEXTANT_SERVER_CALL_CALLS_UNDER_WAY_H_
#define SEXTANT_SERVER_CALL_CALLS_UNDER_WAY_H_

#include <atomic>
#include <chrono>
#include <cstdint>

#include "absl/status/status.h"

namespace sextant::server {

// kUnavailable with reason DRAINING.
absl::Status Draining();

// Thread-safe. gRPC's own shutdown cancels calls that arrive while it tells the clients: they would
// read CANCELLED, which their own code is taken to have done.
class CallsUnderWay {
 public:
  // A call has begun, which End() ends; it goes on only if Admission(), asked for later, is OK.
  void Begin() { ++count_; }
  void End() { --count_; }

  // Errors: Draining() after Close().
  absl::Status Admission() const;

  // Lets no further call go on.
  void Close() { closed_ = true; }

  // Waits for all to end; false where `end` comes first.
  bool WaitUntilNone(std::chrono::steady_clock::time_point end) const;

 private:
  std::atomic<int64_t> count_{0};
  std::atomic<bool> closed_{false};
};

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CALL_CALLS_UNDER_WAY_H_
