// NVML, the driver's library for watching GPUs, and the only driver library that the server loads.
// It makes no CUDA context and takes no memory of a GPU. The parts of its binary interface that the
// server uses, mainly GPU performance monitoring (GPM), are declared here: facts (names, order,
// numbers) are those of NVML's public header and reference manual; docs/metrics.md names the copies
// that were read.
#ifndef SEXTANT_SERVER_GPU_ACTIVITY_GPM_LIBRARY_H_
#define SEXTANT_SERVER_GPU_ACTIVITY_GPM_LIBRARY_H_

#include <array>
#include <cstddef>
#include <functional>

#include "absl/status/statusor.h"

namespace sextant::server {

// Types and numbers of the binary interface.
namespace gpm {

// nvmlReturn_t.
using Return = int;
inline constexpr Return kSuccess = 0;

// nvmlDevice_t and nvmlGpmSample_t.
struct GpuTag;
using Gpu = GpuTag*;
struct SampleTag;
using Sample = SampleTag*;

// nvmlGpmSupport_t. `version` has to be 1.
struct Support {
  unsigned version = 1;
  unsigned is_supported = 0;
};
static_assert(sizeof(Support) == 8);

// nvmlGpmMetricId_t: averages between two samples, in per cent.
inline constexpr unsigned kSmUtilization = 2;       // ..._SM_UTIL: multiprocessors that were busy
inline constexpr unsigned kTensorUtilization = 5;   // ..._ANY_TENSOR_UTIL
inline constexpr unsigned kMemoryUtilization = 10;  // ..._DRAM_BW_UTIL: of the highest bandwidth

// nvmlGpmMetric_t.
struct Metric {
  unsigned id = 0;
  Return code = 0;  // anything but kSuccess: there is no value
  double value = 0;
  std::array<char*, 3> names = {};  // short, long, unit
};
static_assert(sizeof(Metric) == 40 && offsetof(Metric, value) == 8);

// nvmlGpmMetricsGet_t. `version` has to be 1 whatever the length of `metrics`: headers have grown
// it from 98 to 333 under that version, and NVML reads as many as `metric_count` says. The array is
// longer than all of them, in case a version of NVML clears the whole.
struct MetricsRequest {
  unsigned version = 1;
  unsigned metric_count = 0;
  Sample earlier = nullptr;
  Sample later = nullptr;
  std::array<Metric, 512> metrics = {};
};
static_assert(offsetof(MetricsRequest, metrics) == 24);

// nvmlMemory_v2_t, in bytes. `version` is the structure's size and 2 << 24.
struct Memory {
  unsigned version = 0x2000028;
  unsigned long long total = 0;
  unsigned long long reserved = 0;  // by the driver
  unsigned long long free = 0;
  unsigned long long used = 0;
};
static_assert(sizeof(Memory) == 0x28 && offsetof(Memory, total) == 8);

// Bytes of the longest UUID: NVML documents 96.
inline constexpr unsigned kUuidLength = 96;

}  // namespace gpm

// Each member is the function that the comment on its line names; empty where the library has none.
// Tests put in functions of their own.
struct GpmLibrary {
  template <typename... Arguments>
  using Function = std::function<gpm::Return(Arguments...)>;

  Function<> init;                               // nvmlInit_v2
  Function<unsigned*> gpu_count;                 // nvmlDeviceGetCount_v2
  Function<unsigned, gpm::Gpu*> gpu;             // nvmlDeviceGetHandleByIndex_v2
  Function<gpm::Gpu, char*, unsigned> uuid;      // nvmlDeviceGetUUID
  Function<gpm::Gpu, unsigned*, unsigned*> mig;  // nvmlDeviceGetMigMode: now, after a reset
  Function<gpm::Gpu, gpm::Support*> support;     // nvmlGpmQueryDeviceSupport
  Function<gpm::Sample*> allocate;               // nvmlGpmSampleAlloc
  Function<gpm::Sample> free;                    // nvmlGpmSampleFree
  Function<gpm::Gpu, gpm::Sample> sample;        // nvmlGpmSampleGet
  Function<gpm::MetricsRequest*> metrics;        // nvmlGpmMetricsGet
  Function<gpm::Gpu, gpm::Memory*> memory;       // nvmlDeviceGetMemoryInfo_v2; may be empty
};

// Loads libnvidia-ml.so.1 and calls nothing. Never unloaded: it has threads and memory of its own.
//
// Errors: kNotFound with the loader's words; kUnimplemented naming the first function that it
// lacks (older drivers have no GPM).
absl::StatusOr<GpmLibrary> LoadGpmLibrary();

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_GPU_ACTIVITY_GPM_LIBRARY_H_
