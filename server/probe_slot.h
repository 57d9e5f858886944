// One probe at a time: two would measure each other.
#ifndef SEXTANT_SERVER_PROBE_SLOT_H_
#define SEXTANT_SERVER_PROBE_SLOT_H_

#include <chrono>
#include <mutex>
#include <random>

#include "absl/status/status.h"

namespace sextant {

// Thread-safe.
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

}  // namespace sextant

#endif  // SEXTANT_SERVER_PROBE_SLOT_H_
