#include "server/gauge_families.h"

#include <algorithm>
#include <cmath>

namespace sextant {

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

}  // namespace sextant
