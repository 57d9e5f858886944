#include "gpu_probe/cuda/gpu_reading.h"

#include <functional>
#include <limits>

#include "engine/base/status_macros.h"

namespace sextant {
namespace {

// Beyond these a value is an error of the driver's, e.g. the "blank" of its field values.
constexpr unsigned kHighestCelsius = 150;
constexpr unsigned kMostProcesses = 100'000;

// Asks one GPU one thing after another, until it turns out to be gone.
class Questions {
 public:
  Questions(const Nvml& nvml, nvml::Device gpu) : nvml_(nvml), gpu_(gpu) {}

  // What the GPU's being gone was told by; OK where it is there.
  const absl::Status& gone() const { return gone_; }

  void AskMemory(GpuReading* out) {
    nvml::Memory2 memory = {.version = nvml::kMemoryVersion2};
    if (!Ask("nvmlDeviceGetMemoryInfo_v2", nvml_.memory2, &memory)) {
      // Before driver R510. What the driver keeps back is then among what is taken.
      nvml::Memory1 older;
      if (!Ask("nvmlDeviceGetMemoryInfo", nvml_.memory1, &older)) return;
      memory = {.total = older.total, .free = older.free};
    }
    // From what is free, since versions of NVML differ in whether `used` has `reserved` in it.
    constexpr unsigned long long kMost = std::numeric_limits<int64_t>::max();
    if (memory.total == 0 || memory.total > kMost || memory.free > memory.total ||
        memory.reserved > memory.total - memory.free) {
      return;
    }
    out->free_bytes = static_cast<int64_t>(memory.free);
    out->taken_bytes = static_cast<int64_t>(memory.total - memory.free - memory.reserved);
  }

  void AskLoad(GpuReading* out) {
    nvml::Utilization utilization;
    if (Ask("nvmlDeviceGetUtilizationRates", nvml_.utilization, &utilization) &&
        utilization.gpu <= 100) {
      out->utilization_percent = utilization.gpu;
    }
    out->process_count = Count("nvmlDeviceGetComputeRunningProcesses", nvml_.processes);
    out->mps_process_count = Count("nvmlDeviceGetMPSComputeRunningProcesses", nvml_.mps_processes);
    unsigned celsius = 0;
    if (Ask("nvmlDeviceGetTemperature", nvml_.temperature, nvml::kChipSensor, &celsius) &&
        celsius <= kHighestCelsius) {
      out->temperature_celsius = celsius;
    }
  }

  void AskModes(GpuReading* out) {
    int mode = 0;
    if (Ask("nvmlDeviceGetComputeMode", nvml_.compute_mode, &mode)) out->compute_mode = mode;
    unsigned current = 0;
    unsigned pending = 0;
    if (Ask("nvmlDeviceGetMigMode", nvml_.mig_mode, &current, &pending) && current != 0) {
      out->mig_enabled = true;
    }
  }

  void AskHealth(GpuReading* out) {
    unsigned long long error_count = 0;
    if (Ask("nvmlDeviceGetTotalEccErrors", nvml_.ecc_errors, nvml::kUncorrectedErrors,
            nvml::kSinceReset, &error_count) &&
        error_count <= static_cast<unsigned long long>(std::numeric_limits<int64_t>::max())) {
      out->uncorrected_error_count = static_cast<int64_t>(error_count);
    }
    // Pages up to GV100, rows since GA100.
    int retirement_pending = 0;
    if (Ask("nvmlDeviceGetRetiredPagesPendingStatus", nvml_.retirement_pending,
            &retirement_pending) &&
        retirement_pending != 0) {
      out->repair_pending = true;
    }
    unsigned corrected = 0;
    unsigned uncorrected = 0;
    unsigned pending = 0;
    unsigned failed = 0;
    if (Ask("nvmlDeviceGetRemappedRows", nvml_.remapped_rows, &corrected, &uncorrected, &pending,
            &failed)) {
      out->repair_pending = out->repair_pending || pending != 0;
      out->repair_failed = failed != 0;
    }
  }

 private:
  nvml::Return Note(const char* call, nvml::Return code) {
    if (IsGone(code)) gone_.Update(NvmlStatus(code, call));
    return code;
  }

  // Whether there was an answer.
  template <typename... Parameters, typename... Arguments>
  bool Ask(const char* call, const std::function<nvml::Return(Parameters...)>& function,
           Arguments... arguments) {
    return gone_.ok() && Note(call, CallNvml(function, gpu_, arguments...)) == nvml::kSuccess;
  }

  // How many entries a list of processes has: with no room for one, NVML tells only that.
  absl::optional<int64_t> Count(const char* call,
                                const Nvml::Function<nvml::Device, unsigned*, void*>& function) {
    if (!gone_.ok()) return absl::nullopt;
    unsigned count = 0;
    const nvml::Return code =
        Note(call, CallNvml(function, gpu_, &count, static_cast<void*>(nullptr)));
    if (code != nvml::kSuccess && code != nvml::kInsufficientSize) return absl::nullopt;
    if (count > kMostProcesses) return absl::nullopt;
    return count;
  }

  const Nvml& nvml_;
  nvml::Device gpu_;
  absl::Status gone_;
};

}  // namespace

absl::StatusOr<GpuReading> ReadGpu(const Nvml& nvml, const std::string& uuid) {
  nvml::Device gpu = nullptr;
  SEXTANT_RETURN_IF_ERROR(
      NvmlStatus(CallNvml(nvml.find, uuid.c_str(), &gpu), "nvmlDeviceGetHandleByUUID"));
  GpuReading reading;
  unsigned is_instance = 0;
  if (CallNvml(nvml.is_mig_instance, gpu, &is_instance) == nvml::kSuccess && is_instance != 0) {
    reading.mig_enabled = true;
    nvml::Device whole = nullptr;
    SEXTANT_RETURN_IF_ERROR(NvmlStatus(CallNvml(nvml.gpu_of_instance, gpu, &whole),
                                       "nvmlDeviceGetDeviceHandleFromMigDeviceHandle"));
    gpu = whole;
  }
  Questions questions(nvml, gpu);
  questions.AskMemory(&reading);
  questions.AskLoad(&reading);
  questions.AskModes(&reading);
  questions.AskHealth(&reading);
  if (!questions.gone().ok()) return questions.gone();
  return reading;
}

}  // namespace sextant
