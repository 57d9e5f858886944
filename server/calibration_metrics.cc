#include "server/calibration_metrics.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/calibration_age.h"
#include "server/device_gauges.h"
#include "server/gauge_families.h"

namespace sextant {
namespace {

constexpr GaugeName kAge = {"sextant_calibration_age_seconds",
                            "Age of the calibration in use, by product; the oldest where this "
                            "host has several of a product; negative where its clock was ahead."};

// As dcgm-exporter spells them: `gpu` is a number among GPUs.
Labels LabelsOf(const v1::Device& device, int gpu_number) {
  const bool is_processor = device.kind() == v1::DEVICE_KIND_CPU;
  Labels out = {{"UUID", device.uuid()}, {"gpu", is_processor ? "cpu" : absl::StrCat(gpu_number)}};
  if (device.has_pci_bus_id()) out.emplace_back("pci_bus_id", device.pci_bus_id());
  out.emplace_back("modelName", device.product_name());
  out.emplace_back("hostname", device.hostname());
  return out;
}

}  // namespace

CalibrationMetrics::CalibrationMetrics(const CalibrationStore& store, ProbeMetricsSet set, Now now)
    : store_(store), set_(set), now_(std::move(now)) {}

std::vector<prometheus::MetricFamily> CalibrationMetrics::Collect() const {
  const auto snapshot = store_.snapshot();
  GaugeFamilies families;
  std::map<std::string, double> age_seconds;  // by product
  int gpu_number = 0;
  for (const v1::Device& device : snapshot->devices) {
    const StoredCalibration* stored = snapshot->Find(device.uuid());
    AddDeviceGauges({.device = device,
                     .labels = LabelsOf(device, gpu_number),
                     .calibration = stored == nullptr ? nullptr : &stored->calibration,
                     .distrusted = snapshot->distrusted.count(device.uuid()) > 0},
                    set_, families);
    if (device.kind() == v1::DEVICE_KIND_GPU) ++gpu_number;
    if (stored == nullptr) continue;
    const double age = CalibrationAgeSeconds(stored->calibration, now_());
    double& oldest = age_seconds.emplace(device.product_name(), age).first->second;
    oldest = std::max(oldest, age);
  }
  for (const auto& [product, age] : age_seconds) {
    families.Add(kAge, {{"modelName", product}, {"source", "MEASURED_DEVICE"}}, age);
  }
  return families.Take();
}

}  // namespace sextant
