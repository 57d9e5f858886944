#include "gpu_probe/watchdog.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace sextant::probe {
namespace {

using std::chrono::steady_clock;

steady_clock::duration FromSeconds(double seconds) {
  return std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(seconds));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Watchdog>> Watchdog::Start(WatchdogOptions options) {
  try {
    return std::unique_ptr<Watchdog>(new Watchdog(std::move(options)));
  } catch (const std::system_error& error) {
    return absl::InternalError(absl::StrCat("threads can't be started: ", error.what()));
  }
}

Watchdog::Watchdog(WatchdogOptions options)
    : options_(std::move(options)), thread_([this] { Watch(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  stop_changed_.notify_all();
  thread_.join();
}

void Watchdog::Watch() {
  const steady_clock::time_point expiry = steady_clock::now() + FromSeconds(options_.seconds);
  std::unique_lock<std::mutex> lock(mutex_);
  while (!stop_) {
    const steady_clock::time_point now = steady_clock::now();
    if (now >= expiry) return options_.on_expiry();
    const steady_clock::time_point tick =
        options_.on_tick ? now + FromSeconds(options_.tick_seconds) : expiry;
    stop_changed_.wait_until(lock, std::min(tick, expiry), [this] { return stop_; });
    if (!stop_ && options_.on_tick) options_.on_tick();
  }
}

}  // namespace sextant::probe
