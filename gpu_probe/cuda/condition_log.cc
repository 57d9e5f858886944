#include "gpu_probe/cuda/condition_log.h"

#include <algorithm>

#include "gpu_probe/statistics.h"

namespace sextant {
namespace {

constexpr double kHertzOfMegahertz = 1e6;
constexpr double kJoulesOfMillijoule = 1e-3;
// Beyond these a value is an error of the driver's.
constexpr unsigned kHighestMegahertz = 10'000;
constexpr unsigned kHottestCelsius = 150;
constexpr double kHighestWatts = 10'000;

// Share of the readings that tell reasons and tell one of `bits`; absent where none tells any.
absl::optional<double> ShareWith(unsigned long long bits,
                                 const std::vector<ConditionReading>& readings) {
  double told = 0;
  double with = 0;
  for (const ConditionReading& reading : readings) {
    if (!reading.throttle_reasons) continue;
    ++told;
    if ((*reading.throttle_reasons & bits) != 0) ++with;
  }
  if (told == 0) return absl::nullopt;
  return with / told;
}

// Energy over time of all pairs of neighbours that were both read while it multiplied.
absl::optional<double> PowerWatts(const std::vector<ConditionReading>& readings) {
  double joules = 0;
  double seconds = 0;
  for (size_t i = 1; i < readings.size(); ++i) {
    const ConditionReading& from = readings[i - 1];
    const ConditionReading& to = readings[i];
    if (!from.multiplying || !to.multiplying || !from.energy_joules || !to.energy_joules) continue;
    joules += *to.energy_joules - *from.energy_joules;
    seconds += to.time_seconds - from.time_seconds;
  }
  if (seconds < kLeastPowerSeconds) return absl::nullopt;
  const double watts = joules / seconds;
  if (watts <= 0 || watts > kHighestWatts) return absl::nullopt;
  return watts;
}

}  // namespace

ConditionReading ReadConditions(const Nvml& nvml, nvml::Device gpu) {
  ConditionReading out;
  unsigned megahertz = 0;
  if (CallNvml(nvml.clock, gpu, nvml::kSmClock, &megahertz) == nvml::kSuccess && megahertz > 0 &&
      megahertz <= kHighestMegahertz) {
    out.sm_clock_hertz = megahertz * kHertzOfMegahertz;
  }
  unsigned long long millijoules = 0;
  if (CallNvml(nvml.energy, gpu, &millijoules) == nvml::kSuccess) {
    out.energy_joules = static_cast<double>(millijoules) * kJoulesOfMillijoule;
  }
  unsigned celsius = 0;
  if (CallNvml(nvml.temperature, gpu, nvml::kChipSensor, &celsius) == nvml::kSuccess &&
      celsius <= kHottestCelsius) {
    out.temperature_celsius = celsius;
  }
  unsigned long long reasons = 0;
  if (CallNvml(nvml.throttle_reasons, gpu, &reasons) == nvml::kSuccess) {
    out.throttle_reasons = reasons;
  }
  return out;
}

absl::optional<double> MaximumSmClockHertz(const Nvml& nvml, nvml::Device gpu) {
  unsigned megahertz = 0;
  if (CallNvml(nvml.maximum_clock, gpu, nvml::kSmClock, &megahertz) != nvml::kSuccess ||
      megahertz == 0 || megahertz > kHighestMegahertz) {
    return absl::nullopt;
  }
  return megahertz * kHertzOfMegahertz;
}

absl::optional<v1::OperatingConditions> ConditionLog::Summary() const {
  if (readings_.empty()) return absl::nullopt;
  v1::OperatingConditions out;
  out.set_reading_count(static_cast<int32_t>(readings_.size()));
  std::vector<double> clocks;
  for (const ConditionReading& reading : readings_) {
    if (reading.multiplying && reading.sm_clock_hertz) clocks.push_back(*reading.sm_clock_hertz);
    if (reading.temperature_celsius) {
      out.set_maximum_temperature_celsius(
          std::max(out.maximum_temperature_celsius(), *reading.temperature_celsius));
    }
  }
  if (!clocks.empty()) out.set_sm_clock_hertz(Median(clocks));
  if (const auto watts = PowerWatts(readings_)) out.set_power_watts(*watts);
  if (const auto share = ShareWith(nvml::kThrottlePower, readings_)) {
    out.set_power_throttle_ratio(*share);
  }
  if (const auto share = ShareWith(nvml::kThrottleHeat, readings_)) {
    out.set_thermal_throttle_ratio(*share);
  }
  if (const auto share = ShareWith(nvml::kThrottleHardware, readings_)) {
    out.set_hardware_throttle_ratio(*share);
  }
  return out;
}

}  // namespace sextant
