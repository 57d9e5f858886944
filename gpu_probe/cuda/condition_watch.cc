#include "gpu_probe/cuda/condition_watch.h"

#include <new>
#include <utility>

#include "absl/strings/match.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/budget.h"

namespace sextant {

absl::StatusOr<std::unique_ptr<ConditionWatch>> ConditionWatch::Create(Nvml nvml,
                                                                       const std::string& uuid,
                                                                       Clock& clock) {
  nvml::Device gpu = nullptr;
  SEXTANT_RETURN_IF_ERROR(
      NvmlStatus(CallNvml(nvml.find, uuid.c_str(), &gpu), "nvmlDeviceGetHandleByUUID"));
  return std::unique_ptr<ConditionWatch>(new ConditionWatch(std::move(nvml), gpu, clock));
}

absl::Status ConditionWatch::Start() {
  const auto read = [this] {
    try {
      Read();
    } catch (const std::bad_alloc&) {  // nobody catches on that thread; this one is left out
    }
  };
  SEXTANT_ASSIGN_OR_RETURN(ticker_,
                           Watchdog::Start({.seconds = HardDeadlineSeconds(kMaximumBudgetSeconds),
                                            .on_expiry = [] {},
                                            .tick_seconds = kConditionSeconds,
                                            .on_tick = read}));
  return absl::OkStatus();
}

void ConditionWatch::SetPhase(const std::string& phase) {
  const bool multiplying =
      absl::StartsWith(phase, "matmul ") || absl::StartsWith(phase, "sustained ");
  const std::lock_guard<std::mutex> lock(mutex_);
  multiplying_ = multiplying;
}

void ConditionWatch::Read() {
  ConditionReading reading = ReadConditions(nvml_, gpu_);
  reading.time_seconds = clock_.NowSeconds();
  const std::lock_guard<std::mutex> lock(mutex_);
  reading.multiplying = multiplying_;
  log_.Add(reading);
}

absl::optional<v1::OperatingConditions> ConditionWatch::Summary() {
  absl::optional<v1::OperatingConditions> out;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    out = log_.Summary();
  }
  if (!out.has_value()) return out;
  if (const auto hertz = MaximumSmClockHertz(nvml_, gpu_)) out->set_maximum_sm_clock_hertz(*hertz);
  return out;
}

}  // namespace sextant
