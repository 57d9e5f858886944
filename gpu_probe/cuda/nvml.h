// NVML, the driver's library for watching GPUs: it reports a GPU's state without using the GPU.
#ifndef SEXTANT_GPU_PROBE_CUDA_NVML_H_
#define SEXTANT_GPU_PROBE_CUDA_NVML_H_

#include <functional>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "gpu_probe/shared_library.h"

namespace sextant::probe {

// The parts of NVML's binary interface that the probe uses, declared here: CUDA's packages do not
// include nvml.h, and the whole of it is 800 kB. Facts (names, order, numbers) are those of NVML's
// reference manual and its public header.
namespace nvml {

// nvmlReturn_t.
using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kNotFound = 6;
inline constexpr Return kInsufficientSize = 7;
inline constexpr Return kDriverNotLoaded = 9;
inline constexpr Return kLibraryNotFound = 12;
inline constexpr Return kFunctionNotFound = 13;
inline constexpr Return kGpuIsLost = 15;
inline constexpr Return kResetRequired = 16;
inline constexpr Return kOperatingSystem = 17;
inline constexpr Return kVersionsDiffer = 18;

// nvmlDevice_t.
struct DeviceTag;
using Device = DeviceTag*;

// nvmlMemory_v2_t. `version` has to be kMemoryVersion2.
struct Memory2 {
  unsigned version = 0;
  unsigned long long total = 0;
  unsigned long long reserved = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};
static_assert(sizeof(Memory2) == 40);
inline constexpr unsigned kMemoryVersion2 = sizeof(Memory2) | (2U << 24U);

// nvmlMemory_t.
struct Memory1 {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

// nvmlUtilization_t, in per cent.
struct Utilization {
  unsigned gpu = 0;
  unsigned memory = 0;
};

// nvmlProcessInfo_v2_t: an entry of the lists of processes, versions 2 and 3.
struct ProcessInfo {
  unsigned pid = 0;
  unsigned long long used_bytes = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};
static_assert(sizeof(ProcessInfo) == 24);
// Bytes of an entry that version 3 of drivers 535.43 to 535.86 writes (nvitop, pull request 79).
inline constexpr unsigned kLargestProcessInfo = 32;

// nvmlPciInfo_t, as nvmlDeviceGetPciInfo_v3 fills it.
struct PciInfo {
  char legacy_bus_id[16] = {};
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned device_id = 0;
  unsigned subsystem_id = 0;
  char bus_id[32] = {};
};
static_assert(sizeof(PciInfo) == 68);

// nvmlEnableState_t.
inline constexpr int kEnabled = 1;

// NVML_NVLINK_MAX_LINKS.
inline constexpr unsigned kMaxNvLinks = 18;

// nvmlTemperatureSensors_t: the chip.
inline constexpr int kChipSensor = 0;

// nvmlClockType_t: the multiprocessors' and the memory's.
inline constexpr int kSmClock = 1;
inline constexpr int kMemoryClock = 2;

// nvmlClocksEventReason...: reasons for a reduced clock. Power: the software's power cap. Heat: the
// software's and the hardware's thermal slowdown. Hardware: its slowdown and power brake.
inline constexpr unsigned long long kThrottlePower = 0x4;
inline constexpr unsigned long long kThrottleHeat = 0x20 | 0x40;
inline constexpr unsigned long long kThrottleHardware = 0x8 | 0x80;

// nvmlMemoryErrorType_t and nvmlEccCounterType_t.
inline constexpr int kUncorrectedErrors = 1;
inline constexpr int kSinceReset = 0;

// nvmlComputeMode_t; 1 is an older exclusive mode.
inline constexpr int kComputeModeDefault = 0;
inline constexpr int kComputeModeProhibited = 2;

// Size of the text buffers of nvmlDevice...(): enough for every version.
inline constexpr unsigned kTextLength = 96;

}  // namespace nvml

// A function that the library does not have is empty, which counts as the answer kFunctionNotFound.
// Tests put in functions of their own.
struct Nvml {
  template <typename... Arguments>
  using Function = std::function<nvml::Return(Arguments...)>;
  template <typename... Arguments>
  using Query = Function<nvml::Device, Arguments...>;

  LibrarySymbols symbols;

  Function<> init = symbols("nvmlInit_v2");
  Function<char*, unsigned> driver_version = symbols("nvmlSystemGetDriverVersion");
  Function<unsigned*> device_count = symbols("nvmlDeviceGetCount_v2");
  Function<const char*, nvml::Device*> find = symbols("nvmlDeviceGetHandleByUUID");
  Function<unsigned, nvml::Device*> device = symbols("nvmlDeviceGetHandleByIndex_v2");

  Query<char*, unsigned> uuid = symbols("nvmlDeviceGetUUID");
  Query<nvml::PciInfo*> pci_info = symbols("nvmlDeviceGetPciInfo_v3");

  Query<unsigned*> is_mig_instance = symbols("nvmlDeviceIsMigDeviceHandle");
  Query<nvml::Device*> gpu_of_instance = symbols("nvmlDeviceGetDeviceHandleFromMigDeviceHandle");

  Query<nvml::Memory2*> memory2 = symbols("nvmlDeviceGetMemoryInfo_v2");
  Query<nvml::Memory1*> memory1 = symbols("nvmlDeviceGetMemoryInfo");
  Query<nvml::Utilization*> utilization = symbols("nvmlDeviceGetUtilizationRates");
  // With room for `*count` entries of nvml::kLargestProcessInfo bytes.
  Query<unsigned*, nvml::ProcessInfo*> processes =
      symbols("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2");
  Query<unsigned*, nvml::ProcessInfo*> mps_processes = symbols(
      "nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2");
  Query<int, unsigned*> temperature = symbols("nvmlDeviceGetTemperature");
  Query<int*> compute_mode = symbols("nvmlDeviceGetComputeMode");
  Query<unsigned*, unsigned*> mig_mode = symbols("nvmlDeviceGetMigMode");
  Query<int*, int*> ecc_mode = symbols("nvmlDeviceGetEccMode");
  Query<unsigned*> enforced_power_limit = symbols("nvmlDeviceGetEnforcedPowerLimit");
  Query<unsigned*> default_power_limit = symbols("nvmlDeviceGetPowerManagementDefaultLimit");
  Query<int*> persistence = symbols("nvmlDeviceGetPersistenceMode");
  Query<int, unsigned*> application_clock = symbols("nvmlDeviceGetApplicationsClock");
  Query<unsigned*> pcie_generation = symbols("nvmlDeviceGetCurrPcieLinkGeneration");
  Query<unsigned*> pcie_width = symbols("nvmlDeviceGetCurrPcieLinkWidth");
  Query<unsigned*> maximum_pcie_generation = symbols("nvmlDeviceGetMaxPcieLinkGeneration");
  Query<unsigned*> maximum_pcie_width = symbols("nvmlDeviceGetMaxPcieLinkWidth");
  Query<unsigned, int*> nvlink_state = symbols("nvmlDeviceGetNvLinkState");
  Query<int*> retirement_pending = symbols("nvmlDeviceGetRetiredPagesPendingStatus");
  // Clocks are in MHz, energy in mJ.
  Query<int, unsigned*> clock = symbols("nvmlDeviceGetClockInfo");
  Query<int, unsigned*> maximum_clock = symbols("nvmlDeviceGetMaxClockInfo");
  Query<unsigned long long*> energy = symbols("nvmlDeviceGetTotalEnergyConsumption");
  // The second before driver R535.
  Query<unsigned long long*> throttle_reasons = symbols(
      "nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons");
  Query<int, int, unsigned long long*> ecc_errors = symbols("nvmlDeviceGetTotalEccErrors");
  // Corrected, uncorrected, pending, failed
  Query<unsigned*, unsigned*, unsigned*, unsigned*> remapped_rows =
      symbols("nvmlDeviceGetRemappedRows");
};

// Loads libnvidia-ml.so.1, or `path` where one is given, and calls nothing.
//
// Errors: kNotFound with the loader's words, or where the library is not NVML.
absl::StatusOr<Nvml> LoadNvml(const std::string& path);

// Calls `function`; kFunctionNotFound where it is empty.
template <typename... Parameters, typename... Arguments>
nvml::Return CallNvml(const std::function<nvml::Return(Parameters...)>& function,
                      Arguments... arguments) {
  return function ? function(arguments...) : nvml::kFunctionNotFound;
}

// Possible values; others are driver errors, e.g. the "blank" of its field values.
template <typename Value>
struct NvmlRange {
  Value least = 0;
  Value most = std::numeric_limits<Value>::max();
};
inline constexpr NvmlRange<unsigned> kMilliwatts = {1, 10'000'000};  // no GPU draws ten kilowatts
inline constexpr NvmlRange<unsigned> kCelsius = {0, 150};

// The value that `function` writes after `arguments`; absent where it has no answer, or one outside
// of `range`.
template <typename Value, typename... Parameters, typename... Arguments>
absl::optional<Value> AskNvml(const std::function<nvml::Return(Parameters...)>& function,
                              NvmlRange<Value> range, Arguments... arguments) {
  Value value = 0;
  if (CallNvml(function, arguments..., &value) != nvml::kSuccess) return absl::nullopt;
  if (value < range.least || value > range.most) return absl::nullopt;
  return value;
}

// OK for kSuccess. Otherwise a status whose message names `call`, the code and what to do, and
// whose metadata "reason" is the word in brackets:
//   kNotFound     9 and 12 (no_driver), 6 and 17 (no_device), 18 (mismatch)
//   kUnavailable  15 (lost) and 16 (reset): the GPU is gone until it is fixed
//   kInternal     all others (nvml)
absl::Status NvmlStatus(nvml::Return code, absl::string_view call);

// True where a GPU that answers `code` is gone, and not merely unable to answer one query.
constexpr bool IsGone(nvml::Return code) {
  return code == nvml::kGpuIsLost || code == nvml::kResetRequired;
}

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_NVML_H_
