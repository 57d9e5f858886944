// NVML, the driver's library for watching GPUs: the only library of the driver's that the server
// loads. It makes no CUDA context and takes no memory of a GPU.
#ifndef SEXTANT_SERVER_GPU_ACTIVITY_GPM_LIBRARY_H_
#define SEXTANT_SERVER_GPU_ACTIVITY_GPM_LIBRARY_H_

#include <functional>

#include "absl/status/statusor.h"
#include "server/gpu_activity/gpm_abi.h"

namespace sextant {

// Each is the function of the name beside it; empty where the library has none. Tests put their
// own in their place.
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
};

// Loads libnvidia-ml.so.1 and calls nothing. It stays loaded: it has threads and memory of its own.
//
// Errors: kNotFound with the loader's words; kUnimplemented naming the first function that it
// lacks (older drivers have no GPM).
absl::StatusOr<GpmLibrary> LoadGpmLibrary();

}  // namespace sextant

#endif  // SEXTANT_SERVER_GPU_ACTIVITY_GPM_LIBRARY_H_
