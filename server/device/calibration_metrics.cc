#include "server/device/calibration_metrics.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "server/device/device_gauges.h"
#include "server/metrics/gauge_families.h"
#include "server/store/calibration_snapshot.h"

namespace sextant::server {
namespace {

constexpr GaugeName kAge = {"sextant_calibration_age_seconds",
                            "Age of the calibration in use, by product; the oldest where this "
                            "host has several of a product; negative where its clock was ahead."};

}  // namespace

CalibrationMetrics::CalibrationMetrics(const CalibrationStore& store, ProbeMetricsSet set, Now now)
    : store_(store), set_(set), now_(std::move(now)) {}

std::vector<prometheus::MetricFamily> CalibrationMetrics::Collect() const {
  const auto snapshot = store_.snapshot();
  const std::chrono::system_clock::time_point now = now_();
  const CalibrationQuery query = {.now = absl::FromChrono(now)};
  GaugeFamilies families;
  std::map<std::string, double> age_seconds;  // by product
  const std::vector<Labels> labels = DeviceLabels(snapshot->devices);
  for (size_t i = 0; i < labels.size(); ++i) {
    const v1::Device& device = snapshot->devices[i];
    const DeviceCalibrations* kept = snapshot->FindAll(device.uuid());
    const StoredCalibration* stored = snapshot->Find(device.uuid(), query);
    AddDeviceGauges({.device = device,
                     .labels = labels[i],
                     .stored = stored,
                     .last_measured = kept != nullptr ? kept->last_measured : absl::Time(),
                     .last_stable = kept != nullptr && kept->last_stable,
                     .distrusted = snapshot->distrusted.count(device.uuid()) > 0},
                    set_, families);
    if (stored == nullptr) continue;
    const double age = CalibrationAgeSeconds(stored->calibration, now);
    double& oldest = age_seconds.emplace(device.product_name(), age).first->second;
    oldest = std::max(oldest, age);
  }
  for (const auto& [product, age] : age_seconds) {
    families.Add(kAge, {{"modelName", product}, {"source", "MEASURED_DEVICE"}}, age);
  }
  return families.Take();
}

}  // namespace sextant::server
