// Reads what a GPU tells of itself while the probe works on it, from a thread of its own.
#ifndef SEXTANT_GPU_PROBE_CUDA_CONDITION_WATCH_H_
#define SEXTANT_GPU_PROBE_CUDA_CONDITION_WATCH_H_

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "gpu_probe/clock.h"
#include "gpu_probe/cuda/condition_log.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/nvml.h"
#include "gpu_probe/point.h"
#include "gpu_probe/watchdog.h"

namespace sextant {

inline constexpr double kConditionSeconds = 0.05;  // between two readings

// Thread-safe.
class ConditionWatch {
 public:
  // Of the GPU named `uuid`. `clock` outlives it.
  //
  // Errors: NvmlStatus()'s, where the GPU can't be found.
  static absl::StatusOr<std::unique_ptr<ConditionWatch>> Create(Nvml nvml, const std::string& uuid,
                                                                Clock& clock);

  // Reads every kConditionSeconds from now on. A driver that hangs holds the thread, and with it
  // whoever destroys this.
  //
  // Errors: kInternal where the system starts no more threads.
  absl::Status Start();

  // A sustained sample begins, with a reading of its own; or has ended. Its number, from 1.
  int BeginSample();
  void EndSample();
  SampleConditions OfSample(int number);

  void Read();

  // ConditionLog's, with the highest clock where the GPU tells it.
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

// Has the GPU's conditions read while `plan` is measured, and put into the calibration: all that
// was seen as `conditions`, and beside each sustained multiplication its own clock and power.
//
// Errors: ConditionWatch's; GpuSession's.
absl::Status WatchConditions(const Nvml& nvml, const SharedSession& session, ProbePlan* plan);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_CONDITION_WATCH_H_
