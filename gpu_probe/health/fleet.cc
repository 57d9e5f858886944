#include "gpu_probe/health/fleet.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sextant {
namespace {

// Drivers report whole or tenths of watts, and round.
constexpr double kSamePowerWatts = 1;

bool IsBefore(const MeasuredDevice& a, const MeasuredDevice& b) {
  const int by_uuid = a.device().uuid().compare(b.device().uuid());
  return by_uuid != 0 ? by_uuid < 0 : a.unix_seconds() < b.unix_seconds();
}

bool IsSameMeasurement(const MeasuredDevice& a, const MeasuredDevice& b) {
  return a.device().uuid() == b.device().uuid() && a.unix_seconds() == b.unix_seconds();
}

}  // namespace

std::vector<KnownDevice> GroupByDevice(std::vector<MeasuredDevice> all) {
  std::stable_sort(all.begin(), all.end(), IsBefore);
  all.erase(std::unique(all.begin(), all.end(), IsSameMeasurement), all.end());
  std::vector<KnownDevice> devices;
  for (MeasuredDevice& measured : all) {
    if (devices.empty() || devices.back().newest.device().uuid() != measured.device().uuid()) {
      devices.push_back({.newest = std::move(measured), .older = {}});
      continue;
    }
    devices.back().older.push_back(std::move(devices.back().newest));
    devices.back().newest = std::move(measured);
  }
  return devices;
}

bool IsAlike(const v1::Device& a, const v1::Device& b) {
  if (a.kind() != b.kind() || a.product_name() != b.product_name()) return false;
  if (a.has_compute_unit_count() != b.has_compute_unit_count() ||
      a.compute_unit_count() != b.compute_unit_count()) {
    return false;
  }
  return a.has_power_limit_watts() == b.has_power_limit_watts() &&
         std::abs(a.power_limit_watts() - b.power_limit_watts()) <= kSamePowerWatts;
}

}  // namespace sextant
