// Gauges put together at scrape time.
#ifndef SEXTANT_SERVER_GAUGE_FAMILIES_H_
#define SEXTANT_SERVER_GAUGE_FAMILIES_H_

#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

namespace sextant {

// Names and values, in the order in which they are shown.
using Labels = std::vector<std::pair<std::string, std::string>>;

struct GaugeName {
  const char* name;
  const char* help;
};

class GaugeFamilies {
 public:
  // Adds a series to the family of that name. A value that is not finite is left out: absent
  // is better than wrong.
  void Add(const GaugeName& gauge, const Labels& labels, double value);

  // In the order in which their first series were added.
  std::vector<prometheus::MetricFamily> Take() { return std::move(families_); }

 private:
  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace sextant

#endif  // SEXTANT_SERVER_GAUGE_FAMILIES_H_
