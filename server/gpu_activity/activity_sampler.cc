#include "server/gpu_activity/activity_sampler.h"

#include <array>
#include <memory>
#include <utility>

namespace sextant {
namespace {

// Null bytes inside, or none at the end, leave what is before them.
std::string UuidOf(const GpmLibrary& library, gpm::Gpu gpu) {
  std::array<char, gpm::kUuidLength + 1> text = {};
  if (library.uuid(gpu, text.data(), gpm::kUuidLength) != gpm::kSuccess) return "";
  return text.data();
}

// Whether the whole GPU may be looked at, and can be.
bool IsWatchable(const GpmLibrary& library, gpm::Gpu gpu) {
  unsigned mig_now = 0;
  unsigned mig_after_reset = 0;
  // Chips without MIG have no answer.
  if (library.mig(gpu, &mig_now, &mig_after_reset) == gpm::kSuccess && mig_now != 0) return false;
  gpm::Support support;
  return library.support(gpu, &support) == gpm::kSuccess && support.is_supported != 0;
}

absl::optional<double> RatioOf(const gpm::Metric& metric) {
  // NaN fails the comparison.
  const bool sound = metric.code == gpm::kSuccess && metric.value >= 0 && metric.value <= 100;
  return sound ? absl::optional<double>(metric.value / 100) : absl::nullopt;
}

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
    if (uuid.empty() || last_.count(uuid) > 0 || !IsWatchable(library_, gpu)) continue;
    const gpm::Sample later = TakeSample(gpu);
    if (later == nullptr) continue;
    last_[uuid] = later;
    const auto earlier = before.find(uuid);
    if (earlier != before.end()) out.push_back(Between(uuid, earlier->second, later));
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

GpuActivity ActivitySampler::Between(const std::string& uuid, gpm::Sample earlier,
                                     gpm::Sample later) const {
  GpuActivity out = {.uuid = uuid};
  const auto request = std::make_unique<gpm::MetricsRequest>();  // 20 kB
  request->earlier = earlier;
  request->later = later;
  const std::pair<unsigned, absl::optional<double>*> wanted[] = {
      {gpm::kTensorUtilization, &out.tensor},
      {gpm::kMemoryUtilization, &out.memory},
      {gpm::kSmUtilization, &out.sm}};
  for (const auto& [id, ratio] : wanted) request->metrics[request->metric_count++].id = id;
  if (library_.metrics(request.get()) != gpm::kSuccess) return out;
  for (size_t i = 0; i < std::size(wanted); ++i) {
    const gpm::Metric& metric = request->metrics[i];
    if (metric.id == wanted[i].first) *wanted[i].second = RatioOf(metric);
  }
  return out;
}

}  // namespace sextant
