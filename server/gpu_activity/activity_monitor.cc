#include "server/gpu_activity/activity_monitor.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <utility>

#include "server/metrics/gauge_families.h"

namespace sextant::server {
namespace {

// Drops everything from the first null byte on, where the text has one.
std::string UuidOf(const GpmLibrary& library, gpm::Gpu gpu) {
  std::array<char, gpm::kUuidLength + 1> text = {};
  if (library.uuid(gpu, text.data(), gpm::kUuidLength) != gpm::kSuccess) return "";
  return text.data();
}

// True where it is cut into instances. Chips without MIG have no answer.
bool IsCut(const GpmLibrary& library, gpm::Gpu gpu) {
  unsigned mig_now = 0;
  unsigned mig_after_reset = 0;
  return library.mig(gpu, &mig_now, &mig_after_reset) == gpm::kSuccess && mig_now != 0;
}

bool SupportsGpm(const GpmLibrary& library, gpm::Gpu gpu) {
  gpm::Support support;
  return library.support(gpu, &support) == gpm::kSuccess && support.is_supported != 0;
}

absl::optional<double> RatioOf(const gpm::Metric& metric) {
  // NaN fails the comparison.
  const bool sound = metric.code == gpm::kSuccess && metric.value >= 0 && metric.value <= 100;
  return sound ? absl::optional<double>(metric.value / 100) : absl::nullopt;
}

constexpr int kPeriodsBetweenTries = 12;
constexpr int kFreshPeriods = 3;
constexpr std::chrono::seconds kPatience{1};

constexpr GaugeName kTensorActive = {
    "sextant_gpu_tensor_active_ratio",
    "Share of the last sampling period in which the multiprocessors' matrix units worked, whoever "
    "used them; since Hopper."};
constexpr GaugeName kMemoryActive = {
    "sextant_gpu_memory_active_ratio",
    "Traffic of the GPU's memory in the last sampling period over the highest that it can carry; "
    "since Hopper."};
constexpr GaugeName kSmActive = {
    "sextant_gpu_sm_active_ratio",
    "Share of multiprocessors that were busy in the last sampling period; since Hopper."};
constexpr GaugeName kMemoryTaken = {
    "sextant_gpu_memory_taken_bytes",
    "The GPU's memory that processes held at the last sample, without the driver's own."};

}  // namespace

ActivitySampler::~ActivitySampler() {
  for (const auto& [uuid, sample] : last_) library_.free(sample);
}

std::vector<GpuActivity> ActivitySampler::Look() {
  std::vector<GpuActivity> out;
  std::map<std::string, gpm::Sample> before = std::exchange(last_, {});
  unsigned count = 0;
  if (library_.gpu_count(&count) != gpm::kSuccess) count = 0;
  for (unsigned i = 0; i < count; ++i) {
    gpm::Gpu gpu = nullptr;
    if (library_.gpu(i, &gpu) != gpm::kSuccess) continue;
    const std::string uuid = UuidOf(library_, gpu);
    if (uuid.empty() || last_.count(uuid) > 0 || IsCut(library_, gpu)) continue;
    GpuActivity activity = {.uuid = uuid, .taken_bytes = TakenBytes(gpu)};
    const gpm::Sample later = SupportsGpm(library_, gpu) ? TakeSample(gpu) : nullptr;
    if (later != nullptr) last_[uuid] = later;
    const auto earlier = before.find(uuid);
    const bool averages = later != nullptr && earlier != before.end();
    if (averages) AddAverages(earlier->second, later, activity);
    if (averages || activity.taken_bytes.has_value()) out.push_back(std::move(activity));
  }
  for (const auto& [uuid, sample] : before) library_.free(sample);
  return out;
}

gpm::Sample ActivitySampler::TakeSample(gpm::Gpu gpu) const {
  gpm::Sample sample = nullptr;
  if (library_.allocate(&sample) != gpm::kSuccess || sample == nullptr) return nullptr;
  if (library_.sample(gpu, sample) == gpm::kSuccess) return sample;
  library_.free(sample);
  return nullptr;
}

absl::optional<int64_t> ActivitySampler::TakenBytes(gpm::Gpu gpu) const {
  gpm::Memory memory;
  if (!library_.memory || library_.memory(gpu, &memory) != gpm::kSuccess) return absl::nullopt;
  // From the free bytes: versions of NVML differ in counting `reserved` as used.
  constexpr unsigned long long kMax = std::numeric_limits<int64_t>::max();
  const bool sound = memory.total <= kMax && memory.free <= memory.total &&
                     memory.reserved <= memory.total - memory.free;
  if (!sound) return absl::nullopt;
  return static_cast<int64_t>(memory.total - memory.free - memory.reserved);
}

void ActivitySampler::AddAverages(gpm::Sample earlier, gpm::Sample later, GpuActivity& out) const {
  const auto request = std::make_unique<gpm::MetricsRequest>();  // 20 kB
  request->earlier = earlier;
  request->later = later;
  const std::pair<unsigned, absl::optional<double>*> wanted[] = {
      {gpm::kTensorUtilization, &out.tensor},
      {gpm::kMemoryUtilization, &out.memory},
      {gpm::kSmUtilization, &out.sm}};
  for (const auto& [id, ratio] : wanted) request->metrics[request->metric_count++].id = id;
  if (library_.metrics(request.get()) != gpm::kSuccess) return;
  for (size_t i = 0; i < std::size(wanted); ++i) {
    const gpm::Metric& metric = request->metrics[i];
    if (metric.id == wanted[i].first) *wanted[i].second = RatioOf(metric);
  }
}

struct ActivityMonitor::State {
  explicit State(ActivityMonitorOptions of) : options(std::move(of)) {}

  const ActivityMonitorOptions options;
  std::mutex mutex;  // guards all that follows
  std::condition_variable changed;
  bool stopping = false;
  bool ended = false;
  std::vector<GpuActivity> latest;
  std::chrono::steady_clock::time_point seen_at;

  // Waits for that many periods; false where the monitor stops.
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

ActivityMetrics::ActivityMetrics(const CalibrationStore& store, Latest latest)
    : store_(store), latest_(std::move(latest)) {}

std::vector<prometheus::MetricFamily> ActivityMetrics::Collect() const {
  const std::vector<GpuActivity> all = latest_();
  const auto snapshot = store_.snapshot();
  const std::vector<Labels> labels = DeviceLabels(snapshot->devices);
  GaugeFamilies families;
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto seen = std::find_if(all.begin(), all.end(), [&](const GpuActivity& activity) {
      return activity.uuid == snapshot->devices[i].uuid();
    });
    if (seen == all.end()) continue;
    if (seen->tensor.has_value()) families.Add(kTensorActive, labels[i], *seen->tensor);
    if (seen->memory.has_value()) families.Add(kMemoryActive, labels[i], *seen->memory);
    if (seen->sm.has_value()) families.Add(kSmActive, labels[i], *seen->sm);
    if (seen->taken_bytes.has_value()) {
      families.Add(kMemoryTaken, labels[i], static_cast<double>(*seen->taken_bytes));
    }
  }
  return families.Take();
}

}  // namespace sextant::server
