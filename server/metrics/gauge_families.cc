#include "server/metrics/gauge_families.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace sextant::server {
namespace {

Labels LabelsOf(const v1::Device& device, const std::string& gpu) {
  Labels out = {{"UUID", device.uuid()}, {"gpu", gpu}};
  if (device.has_pci_bus_id()) out.emplace_back("pci_bus_id", device.pci_bus_id());
  out.emplace_back("modelName", device.product_name());
  out.emplace_back("hostname", device.hostname());
  return out;
}

}  // namespace

void GaugeFamilies::Add(const GaugeName& gauge, const Labels& labels, double value) {
  if (!std::isfinite(value)) return;
  auto family = std::find_if(families_.begin(), families_.end(),
                             [&](const auto& known) { return known.name == gauge.name; });
  if (family == families_.end()) {
    family = families_.insert(family, {.name = gauge.name,
                                       .help = gauge.help,
                                       .type = prometheus::MetricType::Gauge,
                                       .metric = {}});
  }
  prometheus::ClientMetric& metric = family->metric.emplace_back();
  for (const auto& [name, text] : labels) metric.label.push_back({name, text});
  metric.gauge.value = value;
}

std::vector<Labels> DeviceLabels(const std::vector<v1::Device>& devices) {
  std::vector<Labels> out;
  int gpu_number = 0;
  for (const v1::Device& device : devices) {
    const bool is_processor = device.kind() == v1::DEVICE_KIND_CPU;
    out.push_back(LabelsOf(device, is_processor ? "cpu" : absl::StrCat(gpu_number)));
    if (device.kind() == v1::DEVICE_KIND_GPU) ++gpu_number;
  }
  return out;
}

}  // namespace sextant::server
