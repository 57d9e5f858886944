// NVML, the driver's library for watching GPUs: it tells what a GPU does without touching it.
#ifndef SEXTANT_GPU_PROBE_CUDA_NVML_H_
#define SEXTANT_GPU_PROBE_CUDA_NVML_H_

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gpu_probe/cuda/nvml_abi.h"

namespace sextant {

// Each is the function of the name beside it; empty where the library has none, which is as if it
// answered kFunctionNotFound. Tests put their own in their place.
struct Nvml {
  template <typename... Arguments>
  using Function = std::function<nvml::Return(Arguments...)>;

  Function<> init;                            // nvmlInit_v2
  Function<char*, unsigned> driver_version;   // nvmlSystemGetDriverVersion
  Function<unsigned*> device_count;           // nvmlDeviceGetCount_v2
  Function<const char*, nvml::Device*> find;  // nvmlDeviceGetHandleByUUID
  Function<unsigned, nvml::Device*> device;   // nvmlDeviceGetHandleByIndex_v2

  Function<nvml::Device, char*, unsigned> uuid;     // nvmlDeviceGetUUID
  Function<nvml::Device, nvml::PciInfo*> pci_info;  // nvmlDeviceGetPciInfo_v3

  Function<nvml::Device, unsigned*> is_mig_instance;      // nvmlDeviceIsMigDeviceHandle
  Function<nvml::Device, nvml::Device*> gpu_of_instance;  // ...GetDeviceHandleFromMigDeviceHandle

  Function<nvml::Device, nvml::Memory2*> memory2;          // nvmlDeviceGetMemoryInfo_v2
  Function<nvml::Device, nvml::Memory1*> memory1;          // nvmlDeviceGetMemoryInfo
  Function<nvml::Device, nvml::Utilization*> utilization;  // nvmlDeviceGetUtilizationRates
  // nvmlDeviceGetComputeRunningProcesses and nvmlDeviceGetMPSComputeRunningProcesses, version 3
  // or 2, with room for `*count` entries of nvml::kLargestProcessInfo bytes.
  Function<nvml::Device, unsigned*, nvml::ProcessInfo*> processes;
  Function<nvml::Device, unsigned*, nvml::ProcessInfo*> mps_processes;
  Function<nvml::Device, int, unsigned*> temperature;         // nvmlDeviceGetTemperature
  Function<nvml::Device, int*> compute_mode;                  // nvmlDeviceGetComputeMode
  Function<nvml::Device, unsigned*, unsigned*> mig_mode;      // nvmlDeviceGetMigMode
  Function<nvml::Device, int*, int*> ecc_mode;                // nvmlDeviceGetEccMode
  Function<nvml::Device, unsigned*> enforced_power_limit;     // nvmlDeviceGetEnforcedPowerLimit
  Function<nvml::Device, unsigned*> default_power_limit;      // ...GetPowerManagementDefaultLimit
  Function<nvml::Device, int*> persistence;                   // nvmlDeviceGetPersistenceMode
  Function<nvml::Device, int, unsigned*> application_clock;   // nvmlDeviceGetApplicationsClock, MHz
  Function<nvml::Device, unsigned*> pcie_generation;          // nvmlDeviceGetCurrPcieLinkGeneration
  Function<nvml::Device, unsigned*> pcie_width;               // nvmlDeviceGetCurrPcieLinkWidth
  Function<nvml::Device, unsigned*> maximum_pcie_generation;  // nvmlDeviceGetMaxPcieLinkGeneration
  Function<nvml::Device, unsigned*> maximum_pcie_width;       // nvmlDeviceGetMaxPcieLinkWidth
  Function<nvml::Device, unsigned, int*> nvlink_state;        // nvmlDeviceGetNvLinkState
  Function<nvml::Device, int*> retirement_pending;            // ...GetRetiredPagesPendingStatus
  Function<nvml::Device, int, unsigned*> clock;               // nvmlDeviceGetClockInfo, in MHz
  Function<nvml::Device, int, unsigned*> maximum_clock;       // nvmlDeviceGetMaxClockInfo, in MHz
  Function<nvml::Device, unsigned long long*> energy;         // ...GetTotalEnergyConsumption, in mJ
  // nvmlDeviceGetCurrentClocksEventReasons; before driver R535 ...ThrottleReasons
  Function<nvml::Device, unsigned long long*> throttle_reasons;
  // nvmlDeviceGetTotalEccErrors
  Function<nvml::Device, int, int, unsigned long long*> ecc_errors;
  // nvmlDeviceGetRemappedRows: corrected, uncorrected, pending, failed
  Function<nvml::Device, unsigned*, unsigned*, unsigned*, unsigned*> remapped_rows;
};

// Loads libnvidia-ml.so.1, or `path` where one is given, and calls nothing.
//
// Errors: kNotFound with the loader's words, or where the library is not NVML.
absl::StatusOr<Nvml> LoadNvml(const std::string& path);

// Calls `function` where there is one.
template <typename... Parameters, typename... Arguments>
nvml::Return CallNvml(const std::function<nvml::Return(Parameters...)>& function,
                      Arguments... arguments) {
  return function ? function(arguments...) : nvml::kFunctionNotFound;
}

// OK for kSuccess. Otherwise a status whose message names `call`, the code and what to do, and
// whose metadata "reason" is the word in brackets:
//   kNotFound     9 and 12 (no_driver), 6 and 17 (no_device), 18 (mismatch)
//   kUnavailable  15 (lost) and 16 (reset): the GPU is gone until somebody mends it
//   kInternal     all others (nvml)
absl::Status NvmlStatus(nvml::Return code, absl::string_view call);

// Whether a GPU that answers `code` is gone, rather than without an answer to one question.
constexpr bool IsGone(nvml::Return code) {
  return code == nvml::kGpuIsLost || code == nvml::kResetRequired;
}

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_NVML_H_
