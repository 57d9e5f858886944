#include "server/probe_slot.h"

#include "engine/base/reason.h"
#include "server/probe_budget.h"
#include "server/retry_delay.h"

namespace sextant {

absl::Status ProbeSlot::Take(double budget_seconds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  if (taken_) {
    const double elapsed_seconds = std::chrono::duration<double>(now - start_).count();
    const double jitter = std::uniform_real_distribution<double>(0, 1)(random_);
    return WithRetryDelay(
        WithReason(absl::AbortedError("another probe runs on this host: try again when it is done"),
                   "PROBE_RUNNING"),
        ProbeRetrySeconds(budget_seconds_, elapsed_seconds, jitter));
  }
  taken_ = true;
  budget_seconds_ = budget_seconds;
  start_ = now;
  return absl::OkStatus();
}

void ProbeSlot::Release() {
  const std::lock_guard<std::mutex> lock(mutex_);
  taken_ = false;
}

}  // namespace sextant
