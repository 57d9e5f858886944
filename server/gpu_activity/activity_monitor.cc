#include "server/gpu_activity/activity_monitor.h"

#include <condition_variable>
#include <mutex>
#include <utility>

namespace sextant {
namespace {

constexpr int kPeriodsBetweenTries = 12;
constexpr int kFreshPeriods = 3;
constexpr std::chrono::seconds kPatience{1};

}  // namespace

struct ActivityMonitor::State {
  explicit State(ActivityMonitorOptions of) : options(std::move(of)) {}

  const ActivityMonitorOptions options;
  std::mutex mutex;  // of all that follows
  std::condition_variable changed;
  bool stopping = false;
  bool ended = false;
  std::vector<GpuActivity> latest;
  std::chrono::steady_clock::time_point seen_at;

  // Whether to go on after that many periods.
  bool Wait(int periods) {
    std::unique_lock<std::mutex> lock(mutex);
    return !changed.wait_for(lock, periods * options.period, [this] { return stopping; });
  }

  void Publish(std::vector<GpuActivity> seen) {
    const auto now = options.now();
    const std::lock_guard<std::mutex> lock(mutex);
    latest = std::move(seen);
    seen_at = now;
  }

  void Watch() {
    while (true) {
      const absl::StatusOr<GpmLibrary> library = options.load();
      if (library.ok() && library->init() == gpm::kSuccess) {
        ActivitySampler sampler(*library);
        do {
          Publish(sampler.Look());
        } while (Wait(1));
        return;
      }
      if (!Wait(kPeriodsBetweenTries)) return;
    }
  }
};

ActivityMonitor::ActivityMonitor(ActivityMonitorOptions options)
    : state_(std::make_shared<State>(std::move(options))) {
  if (state_->options.period.count() > 0) thread_ = std::thread(Run, state_);
}

ActivityMonitor::~ActivityMonitor() {
  if (!thread_.joinable()) return;
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->stopping = true;
  state_->changed.notify_all();
  const bool ended = state_->changed.wait_for(lock, kPatience, [this] { return state_->ended; });
  lock.unlock();
  ended ? thread_.join() : thread_.detach();
}

void ActivityMonitor::Run(const std::shared_ptr<State>& state) {
  state->Watch();
  const std::lock_guard<std::mutex> lock(state->mutex);
  state->ended = true;
  state->changed.notify_all();
}

std::vector<GpuActivity> ActivityMonitor::Latest() const {
  const auto now = state_->options.now();
  const std::lock_guard<std::mutex> lock(state_->mutex);
  if (now - state_->seen_at > kFreshPeriods * state_->options.period) return {};
  return state_->latest;
}

}  // namespace sextant
