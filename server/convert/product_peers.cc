#include "server/convert/product_peers.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "engine/hardware/reported_names.h"

namespace sextant {
namespace {

// Drivers report whole watts, datasheets round figures.
constexpr double kLikeLimit = 0.01;

// How many of a product's measured devices were of which sort.
struct Census {
  size_t measured = 0;
  size_t too_old = 0;
  size_t of_unknown_limit = 0;
  std::vector<double> other_limits;
};

bool IsTooOld(const v1::Calibration& calibration, const CalibrationQuery& query) {
  return query.maximum_age.has_value() &&
         absl::FromUnixSeconds(calibration.measured_time().seconds()) <
             query.now - *query.maximum_age;
}

// "2 of 3 measured h200-sxm".
std::string Part(size_t count, const Census& census, const Accelerator& accelerator) {
  return absl::StrCat(count, " of ", census.measured, " measured ", accelerator.name);
}

// "500 W", "500 W to 650 W".
std::string LimitsText(const std::vector<double>& limits) {
  const auto [low, high] = std::minmax_element(limits.begin(), limits.end());
  return *low == *high ? absl::StrCat(*low, " W") : absl::StrCat(*low, " W to ", *high, " W");
}

std::vector<std::string> AssumptionsOf(const Census& census, const Accelerator& accelerator,
                                       size_t taking_part) {
  std::vector<std::string> out;
  if (census.too_old > 0) {
    out.push_back(absl::StrCat("Older than the request allows, so left out of the median: ",
                               Part(census.too_old, census, accelerator), "."));
  }
  const Figure& limit = accelerator.thermal_design_power_watts;
  if (!census.other_limits.empty()) {
    out.push_back(absl::StrCat("Left out of the median, since their power limit is ",
                               LimitsText(census.other_limits), " and the datasheet's is ",
                               limit.value,
                               " W: ", Part(census.other_limits.size(), census, accelerator), "."));
  }
  if (limit && census.of_unknown_limit > 0) {
    out.push_back(absl::StrCat(
        "Taken to have the datasheet's power limit of ", limit.value,
        " W, since they say none: ", Part(census.of_unknown_limit, census, accelerator), "."));
  }
  if (!limit && taking_part > 0) {
    out.push_back(absl::StrCat("The catalogue has no power limit of ", accelerator.name,
                               ": its measured devices take part whatever theirs is."));
  }
  if (taking_part == 0 && census.measured > 0) {
    out.push_back(
        absl::StrCat("No measured ", accelerator.name, " is left, hence what is published of it."));
  }
  return out;
}

}  // namespace

ProductPeers PeersOf(const Accelerator& accelerator, const CalibrationSnapshot& snapshot,
                     const CalibrationQuery& query) {
  ProductPeers out;
  Census census;
  const Figure& limit = accelerator.thermal_design_power_watts;
  for (const DeviceCalibrations& kept : snapshot.calibrations) {
    const v1::Calibration& calibration = snapshot.InUse(kept, query)->calibration;
    const v1::Device& device = calibration.device();
    if (AcceleratorReportedAs(device.product_name()) != &accelerator) continue;
    if (snapshot.distrusted.count(device.uuid()) > 0) continue;
    ++census.measured;
    const double watts = device.power_limit_watts();
    if (IsTooOld(calibration, query)) {
      ++census.too_old;
      continue;
    }
    if (!device.has_power_limit_watts()) {
      ++census.of_unknown_limit;
    } else if (limit && std::abs(watts - limit.value) > kLikeLimit * limit.value) {
      census.other_limits.push_back(watts);
      continue;
    }
    out.calibrations.push_back(&calibration);
  }
  out.assumptions = AssumptionsOf(census, accelerator, out.calibrations.size());
  return out;
}

}  // namespace sextant
