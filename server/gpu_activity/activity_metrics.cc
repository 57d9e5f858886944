#include "server/gpu_activity/activity_metrics.h"

#include <algorithm>
#include <utility>

#include "server/device_labels.h"
#include "server/gauge_families.h"

namespace sextant {
namespace {

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

}  // namespace

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
  }
  return families.Take();
}

}  // namespace sextant
