// The CUDA driver's functions that the probe calls, loaded by name.
//
// The driver's interface and not the runtime's (cudart): it is part of the driver itself, so it is
// as new as the driver is. A runtime of CUDA 13 refuses every driver before R580 with its error
// 35, though such a driver runs the same kernels. Its error codes are the runtime's, 35 apart.
// Nothing of CUDA is needed to build the probe: what is called is declared here, and the
// driver's binary interface keeps each function under its name, versions as suffixes.
#ifndef SEXTANT_GPU_PROBE_CUDA_CUDA_DRIVER_H_
#define SEXTANT_GPU_PROBE_CUDA_CUDA_DRIVER_H_

#include <array>
#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace sextant {

namespace cuda {

// CUresult, of which cuda_fault.h knows the values; 0 is success.
using Result = int;
// CUdevice, an ordinal: it means another GPU wherever CUDA_VISIBLE_DEVICES differs.
using Device = int;
// CUuuid.
using Uuid = std::array<unsigned char, 16>;
static_assert(sizeof(Uuid) == 16);

// CUdevice_attribute.
inline constexpr int kMultiprocessorCount = 16;
inline constexpr int kL2CacheSize = 38;
inline constexpr int kComputeCapabilityMajor = 75;
inline constexpr int kComputeCapabilityMinor = 76;

}  // namespace cuda

// Each is the function of the name beside it. Tests put their own in its place.
struct CudaDriver {
  std::function<cuda::Result(unsigned)> init;                           // cuInit
  std::function<cuda::Result(int*)> driver_version;                     // cuDriverGetVersion
  std::function<cuda::Result(int*)> device_count;                       // cuDeviceGetCount
  std::function<cuda::Result(cuda::Device*, int)> device;               // cuDeviceGet
  std::function<cuda::Result(char*, int, cuda::Device)> name;           // cuDeviceGetName
  std::function<cuda::Result(cuda::Uuid*, cuda::Device)> uuid;          // cuDeviceGetUuid_v2
  std::function<cuda::Result(int*, int, cuda::Device)> attribute;       // cuDeviceGetAttribute
  std::function<cuda::Result(std::size_t*, cuda::Device)> memory_size;  // cuDeviceTotalMem_v2
  std::function<cuda::Result(char*, int, cuda::Device)> pci_bus_id;     // cuDeviceGetPCIBusId
};

// Loads libcuda.so.1, or `path` where one is given. Makes no context, and calls nothing.
//
// Errors: kNotFound with the loader's words; Absent() "driver_too_old" where a function is missing.
absl::StatusOr<CudaDriver> LoadCudaDriver(const std::string& path);

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_CUDA_DRIVER_H_
