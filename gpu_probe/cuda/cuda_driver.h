// The CUDA driver's functions that the probe calls, loaded by name.
//
// Uses the driver's interface and not the runtime's (cudart): it is part of the driver itself, so
// the two versions always match. A runtime of CUDA 13 refuses every driver before R580 with its
// error 35, though such a driver runs the same kernels. Its error codes are the runtime's, 35
// apart. Building the probe needs nothing of CUDA: the called functions are declared here, and the
// driver's binary interface keeps each function under its name, with versions as suffixes.
#ifndef SEXTANT_GPU_PROBE_CUDA_CUDA_DRIVER_H_
#define SEXTANT_GPU_PROBE_CUDA_CUDA_DRIVER_H_

#include <array>
#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/statusor.h"

namespace sextant::probe {

namespace cuda {

// CUresult; cuda_fault.h knows its values. 0 is success.
using Result = int;
// CUdevice, an ordinal: CUDA_VISIBLE_DEVICES changes which GPU it means.
using Device = int;
// CUuuid.
using Uuid = std::array<unsigned char, 16>;
static_assert(sizeof(Uuid) == 16);

// CUdeviceptr.
using Address = unsigned long long;
// CUcontext, CUstream, CUevent, CUmodule, CUfunction, CUgraph, CUgraphExec: the driver's objects.
using Context = void*;
using Stream = void*;
using Event = void*;
using Module = void*;
using Function = void*;
using Graph = void*;
using GraphRun = void*;

// CUevent_flags, CUstream_flags, CUstreamCaptureMode, CUmemhostalloc_flags.
inline constexpr unsigned kTimedEvent = 0;
inline constexpr unsigned kNonBlockingStream = 1;
inline constexpr int kCaptureThisThread = 1;
inline constexpr unsigned kPlainHostMemory = 0;

// CUdevice_attribute.
inline constexpr int kMultiprocessorCount = 16;
inline constexpr int kL2CacheSize = 38;
inline constexpr int kComputeCapabilityMajor = 75;
inline constexpr int kComputeCapabilityMinor = 76;

}  // namespace cuda

// Each member is the function that the comment on its line names. Tests put in functions of their
// own.
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

  // Functions for measuring, which listing does not need. All of them act on the current context.
  std::function<cuda::Result(cuda::Context*, cuda::Device)> retain_context;
  std::function<cuda::Result(cuda::Device)> release_context;  // cuDevicePrimaryCtxRelease_v2
  std::function<cuda::Result(cuda::Context)> set_context;     // cuCtxSetCurrent

  std::function<cuda::Result(cuda::Address*, std::size_t)> allocate;    // cuMemAlloc_v2
  std::function<cuda::Result(cuda::Address)> free;                      // cuMemFree_v2
  std::function<cuda::Result(void**, std::size_t, unsigned)> pin_host;  // cuMemHostAlloc
  std::function<cuda::Result(void*)> free_host;                         // cuMemFreeHost
  // cuMemcpyHtoDAsync_v2, cuMemcpyDtoHAsync_v2
  std::function<cuda::Result(cuda::Address, const void*, std::size_t, cuda::Stream)> to_device;
  std::function<cuda::Result(void*, cuda::Address, std::size_t, cuda::Stream)> to_host;
  // cuMemcpyPeerAsync (to, its context, from, its context, bytes, stream)
  std::function<cuda::Result(cuda::Address, cuda::Context, cuda::Address, cuda::Context,
                             std::size_t, cuda::Stream)>
      to_peer;
  std::function<cuda::Result(cuda::Address, unsigned char, std::size_t, cuda::Stream)> fill_bytes;
  std::function<cuda::Result(int*, cuda::Device, cuda::Device)> can_access_peer;
  std::function<cuda::Result(cuda::Context, unsigned)> enable_peer;  // cuCtxEnablePeerAccess

  std::function<cuda::Result(cuda::Stream*, unsigned)> make_stream;
  std::function<cuda::Result(cuda::Stream)> drop_stream;
  std::function<cuda::Result(cuda::Stream)> wait_stream;  // cuStreamSynchronize
  std::function<cuda::Result(cuda::Event*, unsigned)> make_event;
  std::function<cuda::Result(cuda::Event)> drop_event;
  std::function<cuda::Result(cuda::Event, cuda::Stream)> record_event;
  std::function<cuda::Result(cuda::Event)> wait_event;  // cuEventSynchronize
  // cuEventElapsedTime, in milliseconds
  std::function<cuda::Result(float*, cuda::Event, cuda::Event)> elapsed;

  std::function<cuda::Result(cuda::Module*, const void*)> load_module;  // cuModuleLoadData
  std::function<cuda::Result(cuda::Module)> unload_module;
  std::function<cuda::Result(cuda::Function*, cuda::Module, const char*)> find_function;
  // cuLaunchKernel (function, grid's x y z, block's x y z, shared bytes, stream, arguments, extra)
  std::function<cuda::Result(cuda::Function, unsigned, unsigned, unsigned, unsigned, unsigned,
                             unsigned, unsigned, cuda::Stream, void**, void**)>
      launch;

  std::function<cuda::Result(cuda::Stream, int)> begin_capture;         // ..._v2
  std::function<cuda::Result(cuda::Stream, cuda::Graph*)> end_capture;  // cuStreamEndCapture
  std::function<cuda::Result(cuda::GraphRun*, cuda::Graph, unsigned long long)> make_graph_run;
  std::function<cuda::Result(cuda::GraphRun, cuda::Stream)> launch_graph;  // cuGraphLaunch
  std::function<cuda::Result(cuda::GraphRun)> drop_graph_run;
  std::function<cuda::Result(cuda::Graph)> drop_graph;
};

// Loads libcuda.so.1, or `path` where one is given. Makes no context and calls nothing.
//
// Errors: kNotFound with the loader's message; Absent() "driver_too_old" where a function is
// missing.
absl::StatusOr<CudaDriver> LoadCudaDriver(const std::string& path);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_CUDA_DRIVER_H_
