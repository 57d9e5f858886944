#include "gpu_probe/health/performance_data.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/types/optional.h"

namespace sextant {
namespace {

// Nagios takes 8 KiB of a plugin's output; a GPU's UUID alone has 40 bytes.
constexpr size_t kMaximumRatioCount = 32;

// Neither blanks nor signs: some that store them know neither.
std::string Label(const FigureVerdict& figure) {
  const char* unit = figure.unit == "FLOP/s" ? "flops_per_second" : "bytes_per_second";
  return absl::StrCat(absl::StrReplaceAll(figure.name, {{" ", "_"}}), "_", unit);
}

// Whole numbers without an exponent, which not all can read.
std::string OfFigure(const FigureVerdict& figure) {
  const std::string critical =
      figure.alarm_below > 0 ? absl::StrFormat("%.0f:", figure.alarm_below) : "";
  return absl::StrFormat("'%s'=%.0f;;%s;0", Label(figure), figure.value, critical);
}

absl::optional<double> LowestRatio(const DeviceVerdict& device) {
  absl::optional<double> lowest;
  const auto consider = [&lowest](double log_deficit) {
    lowest = std::min(lowest.value_or(HUGE_VAL), std::exp(-log_deficit));
  };
  for (const FigureVerdict& figure : device.figures) {
    if (figure.history.has_value()) consider(figure.history->log_deficit);
    if (figure.peers.has_value()) consider(figure.peers->log_deficit);
  }
  return lowest;
}

std::string Count(const CheckReport& report, const char* label, HealthStatus status) {
  const auto count = std::count_if(report.devices.begin(), report.devices.end(),
                                   [status](const DeviceVerdict& d) { return d.status == status; });
  return absl::StrFormat("'%s'=%d;;;0;%d", label, count, report.devices.size());
}

}  // namespace

std::string PerformanceData(const CheckReport& report) {
  std::vector<std::string> data;
  if (report.devices.size() == 1) {
    for (const FigureVerdict& f : report.devices[0].figures) data.push_back(OfFigure(f));
    return absl::StrJoin(data, " ");
  }
  if (report.devices.empty()) return "";
  data = {Count(report, "devices_ok", HealthStatus::kOk),
          Count(report, "devices_warning", HealthStatus::kWarning),
          Count(report, "devices_critical", HealthStatus::kCritical),
          Count(report, "devices_unknown", HealthStatus::kUnknown)};
  if (report.devices.size() > kMaximumRatioCount) return absl::StrJoin(data, " ");
  for (const DeviceVerdict& device : report.devices) {
    const absl::optional<double> lowest = LowestRatio(device);
    if (!lowest.has_value()) continue;
    data.push_back(absl::StrFormat("'%s_lowest_ratio'=%.4f;;;0", device.device.uuid(), *lowest));
  }
  return absl::StrJoin(data, " ");
}

}  // namespace sextant
