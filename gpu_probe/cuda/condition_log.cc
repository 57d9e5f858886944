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

SampleConditions ConditionLog::OfSample(int sustained_sample) const {
  SampleConditions out;
  std::vector<double> clocks;
  const ConditionReading* first = nullptr;  // of those that tell the counter of energy
  const ConditionReading* last = nullptr;
  for (const ConditionReading& reading : readings_) {
    if (reading.sustained_sample != sustained_sample) continue;
    if (reading.sm_clock_hertz) clocks.push_back(*reading.sm_clock_hertz);
    if (!reading.energy_joules) continue;
    if (first == nullptr) first = &reading;
    last = &reading;
  }
  if (!clocks.empty()) out.sm_clock_hertz = Median(clocks);
  if (first == nullptr || last->time_seconds - first->time_seconds < kLeastPowerSeconds) return out;
  const double watts =
      (*last->energy_joules - *first->energy_joules) / (last->time_seconds - first->time_seconds);
  if (watts > 0 && watts <= kHighestWatts) out.power_watts = watts;
  return out;
}

absl::optional<v1::OperatingConditions> ConditionLog::Summary() const {
  if (readings_.empty()) return absl::nullopt;
  v1::OperatingConditions out;
  out.set_reading_count(static_cast<int32_t>(readings_.size()));
  for (const ConditionReading& reading : readings_) {
    if (!reading.temperature_celsius) continue;
    out.set_maximum_temperature_celsius(
        std::max(out.maximum_temperature_celsius(), *reading.temperature_celsius));
  }
  const SampleConditions first = OfSample(1);
  if (first.sm_clock_hertz) out.set_sm_clock_hertz(*first.sm_clock_hertz);
  if (first.power_watts) out.set_power_watts(*first.power_watts);
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
