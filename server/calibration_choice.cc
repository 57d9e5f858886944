#include "server/calibration_choice.h"

#include <cmath>

#include "server/convert/calibration_clock.h"

namespace sextant {
namespace {

// As kSamePowerWatts of gpu_probe/health/fleet.cc.
constexpr double kSameLimitWatts = 1;

bool Fits(const CalibrationFacts& facts, const CalibrationDemand& demand) {
  const absl::Duration age = demand.now - facts.measured;
  return IsSameState(facts.state, demand.state) && age <= demand.maximum_age &&
         age >= -kMostClockSkew;
}

}  // namespace

bool IsSameState(const DeviceState& a, const DeviceState& b) {
  const bool told = a.power_limit_watts.has_value();
  if (a.driver_version != b.driver_version || told != b.power_limit_watts.has_value()) return false;
  return !told || std::abs(*a.power_limit_watts - *b.power_limit_watts) <= kSameLimitWatts;
}

CalibrationPreference Prefer(const CalibrationFacts& first, const CalibrationFacts& second,
                             const CalibrationDemand& demand) {
  const bool fits = Fits(first, demand);
  if (fits != Fits(second, demand)) return {fits, CalibrationMerit::kFits};
  if (!fits && first.measured != second.measured) {
    return {first.measured > second.measured, CalibrationMerit::kNewer};
  }
  if (first.stable != second.stable) return {first.stable, CalibrationMerit::kStable};
  if (first.thoroughness != second.thoroughness) {
    return {first.thoroughness > second.thoroughness, CalibrationMerit::kFuller};
  }
  if (first.coverage_ratio != second.coverage_ratio) {
    return {first.coverage_ratio > second.coverage_ratio, CalibrationMerit::kFuller};
  }
  return {first.measured >= second.measured, CalibrationMerit::kNewer};
}

size_t ChooseCalibration(absl::Span<const CalibrationFacts* const> all,
                         const CalibrationDemand& demand) {
  size_t best = 0;
  for (size_t i = 1; i < all.size(); ++i) {
    if (!Prefer(*all[best], *all[i], demand).first) best = i;
  }
  return best;
}

}  // namespace sextant
