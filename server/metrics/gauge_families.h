// Gauges built at scrape time, and the labels that all series of a device carry.
#ifndef SEXTANT_SERVER_METRICS_GAUGE_FAMILIES_H_
#define SEXTANT_SERVER_METRICS_GAUGE_FAMILIES_H_

#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

#include "sextant/v1/device.pb.h"

namespace sextant::server {

// Names and values, in the order in which they are shown.
using Labels = std::vector<std::pair<std::string, std::string>>;

struct GaugeName {
  const char* name;
  const char* help;
};

// The families of one scrape.
class GaugeFamilies {
 public:
  // Adds a series to the family of that name. A value that is not finite is left out: an absent
  // series is better than a wrong one.
  void Add(const GaugeName& gauge, const Labels& labels, double value);

  // In the order in which their first series were added.
  std::vector<prometheus::MetricFamily> Take() { return std::move(families_); }

 private:
  std::vector<prometheus::MetricFamily> families_;
};

// The labels of each of `devices`, this host's: UUID, gpu, pci_bus_id, modelName and hostname, as
// dcgm-exporter spells them. `gpu` is a number among the GPUs, "cpu" for processors.
std::vector<Labels> DeviceLabels(const std::vector<v1::Device>& devices);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_METRICS_GAUGE_FAMILIES_H_
