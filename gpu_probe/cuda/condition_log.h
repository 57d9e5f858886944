// What a GPU told of itself while it was measured, summed up.
#ifndef SEXTANT_GPU_PROBE_CUDA_CONDITION_LOG_H_
#define SEXTANT_GPU_PROBE_CUDA_CONDITION_LOG_H_

#include <cstdint>
#include <vector>

#include "absl/types/optional.h"
#include "gpu_probe/cuda/nvml.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant {

// One reading. Absent is what the GPU does not tell, or tells as a value that can't be.
struct ConditionReading {
  double time_seconds = 0;
  int sustained_sample = 0;  // the number, from 1, of the sustained sample that ran then; 0: none
  absl::optional<double> sm_clock_hertz = {};
  absl::optional<double> energy_joules = {};  // since the driver was loaded
  absl::optional<double> temperature_celsius = {};
  absl::optional<unsigned long long> throttle_reasons = {};  // bits, nvml::kThrottle...
};

// Asks NVML about one GPU. What it does not answer is absent.
ConditionReading ReadConditions(const Nvml& nvml, nvml::Device gpu);

// The highest clock that its multiprocessors may have, in hertz.
absl::optional<double> MaximumSmClockHertz(const Nvml& nvml, nvml::Device gpu);

// Clock and power during one sustained sample.
struct SampleConditions {
  absl::optional<double> sm_clock_hertz = {};  // the median of its readings
  // Energy over time: only where its readings span kLeastPowerSeconds, since the counter of energy
  // is renewed some ten times a second.
  absl::optional<double> power_watts = {};
};

class ConditionLog {
 public:
  void Add(const ConditionReading& reading) { readings_.push_back(reading); }

  // Clock and power of a sustained sample, by its number.
  SampleConditions OfSample(int sustained_sample) const;

  // Absent where there is no reading. Clock and power are those of the first sustained sample.
  absl::optional<v1::OperatingConditions> Summary() const;

 private:
  std::vector<ConditionReading> readings_;
};

inline constexpr double kLeastPowerSeconds = 0.25;

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_CONDITION_LOG_H_
