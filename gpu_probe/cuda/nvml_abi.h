// What the probe uses of NVML's binary interface, declared by us: CUDA's packages bring no
// nvml.h, and the whole of it is 800 kB. Facts (names, order, numbers) are those of NVML's
// reference manual and its public header.
#ifndef SEXTANT_GPU_PROBE_CUDA_NVML_ABI_H_
#define SEXTANT_GPU_PROBE_CUDA_NVML_ABI_H_

namespace sextant::nvml {

// nvmlReturn_t.
using Return = int;
inline constexpr Return kSuccess = 0;
inline constexpr Return kNoPermission = 4;
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
// Version 3 of drivers 535.43 to 535.86 writes this much for an entry (nvitop, pull request 79).
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
inline constexpr unsigned kMostNvLinks = 18;

// nvmlTemperatureSensors_t: the chip.
inline constexpr int kChipSensor = 0;

// nvmlClockType_t: the multiprocessors' and the memory's.
inline constexpr int kSmClock = 1;
inline constexpr int kMemoryClock = 2;

// nvmlClocksEventReason...: why a clock is lower than it could be. Power: the software's power cap.
// Heat: the software's and the hardware's thermal slowdown. Hardware: its slowdown and power brake.
inline constexpr unsigned long long kThrottlePower = 0x4;
inline constexpr unsigned long long kThrottleHeat = 0x20 | 0x40;
inline constexpr unsigned long long kThrottleHardware = 0x8 | 0x80;

// nvmlMemoryErrorType_t and nvmlEccCounterType_t.
inline constexpr int kUncorrectedErrors = 1;
inline constexpr int kSinceReset = 0;

// nvmlComputeMode_t; 1 is an older way to be exclusive.
inline constexpr int kComputeModeDefault = 0;
inline constexpr int kComputeModeProhibited = 2;
inline constexpr int kComputeModeExclusiveProcess = 3;

// nvmlDevice...() with a buffer: enough for every version.
inline constexpr unsigned kTextLength = 96;

}  // namespace sextant::nvml

#endif  // SEXTANT_GPU_PROBE_CUDA_NVML_ABI_H_
