// A GPU's conditions while the probe works on it, read on a thread of its own and summarised.
#ifndef SEXTANT_GPU_PROBE_CUDA_CONDITION_WATCH_H_
#define SEXTANT_GPU_PROBE_CUDA_CONDITION_WATCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/nvml.h"
#include "gpu_probe/point.h"
#include "gpu_probe/watchdog.h"
#include "sextant/v1/calibration.pb.h"

namespace sextant::probe {

// One reading. A value that the GPU does not report, or reports as impossible, is absent.
struct ConditionReading {
  double time_seconds = 0;
  int sustained_sample = 0;  // number, from 1, of the sustained sample that ran then; 0: none
  absl::optional<double> sm_clock_hertz = {};
  absl::optional<double> energy_joules = {};  // since the driver was loaded
  absl::optional<double> temperature_celsius = {};
  absl::optional<unsigned long long> throttle_reasons = {};  // bits, nvml::kThrottle...
};

// Reads one GPU's conditions from NVML. Values that it does not return are absent.
ConditionReading ReadConditions(const Nvml& nvml, nvml::Device gpu);

// The highest clock that its multiprocessors may have, in hertz.
absl::optional<double> MaximumSmClockHertz(const Nvml& nvml, nvml::Device gpu);

// Clock and power during one sustained sample.
struct SampleConditions {
  absl::optional<double> sm_clock_hertz = {};  // the median of its readings
  // Energy over time. Absent unless the readings span kMinPowerSeconds: the energy counter is
  // updated some ten times a second.
  absl::optional<double> power_watts = {};
};

// All readings of one GPU, and their summary.
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

inline constexpr double kMinPowerSeconds = 0.25;

inline constexpr double kConditionSeconds = 0.05;  // between two readings

// Thread-safe.
class ConditionWatch {
 public:
  // Watches the GPU named `uuid`. `clock` outlives it.
  //
  // Errors: NvmlStatus()'s, where the GPU can't be found.
  static absl::StatusOr<std::unique_ptr<ConditionWatch>> Create(Nvml nvml, const std::string& uuid,
                                                                Clock& clock);

  // Starts reading every kConditionSeconds. A driver that hangs blocks the thread, and with it the
  // destructor.
  //
  // Errors: kInternal where the system starts no more threads.
  absl::Status Start();

  // Marks the start of a sustained sample, with a reading of its own, and its end. Returns its
  // number, from 1.
  int BeginSample();
  void EndSample();
  SampleConditions OfSample(int number);

  void Read();

  // ConditionLog's, with the highest clock where the GPU reports it.
  absl::optional<v1::OperatingConditions> Summary();

 private:
  ConditionWatch(Nvml nvml, nvml::Device gpu, Clock& clock)
      : nvml_(std::move(nvml)), gpu_(gpu), clock_(clock) {}

  const Nvml nvml_;
  const nvml::Device gpu_;
  Clock& clock_;
  std::mutex mutex_;
  int sample_count_ = 0;
  bool in_sample_ = false;
  ConditionLog log_;
  std::unique_ptr<Watchdog> ticker_;  // last: its thread ends before what it uses
};

// Reads the GPU's conditions while `plan` is measured, and adds them to the calibration: all
// readings as `conditions`, and to each sustained multiplication its own clock and power.
//
// Errors: ConditionWatch's; GpuSession's.
absl::Status WatchConditions(const Nvml& nvml, const SharedSession& session, ProbePlan* plan);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_CONDITION_WATCH_H_
