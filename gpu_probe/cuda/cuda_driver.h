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
#include <string>

#include "absl/status/statusor.h"
#include "gpu_probe/cuda/cuda_fault.h"
#include "gpu_probe/shared_library.h"

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

// Tests put in functions of their own.
struct CudaDriver {
  template <typename... Arguments>
  using Function = LibraryFunction<CudaStatus, Arguments...>;

  LibrarySymbols symbols;

  Function<unsigned> init = symbols("cuInit");
  Function<int*> driver_version = symbols("cuDriverGetVersion");
  Function<int*> device_count = symbols("cuDeviceGetCount");
  Function<cuda::Device*, int> device = symbols("cuDeviceGet");
  Function<char*, int, cuda::Device> name = symbols("cuDeviceGetName");
  // Version 2, since CUDA 11.4, distinguishes a MIG instance from its GPU; the first one does not.
  Function<cuda::Uuid*, cuda::Device> uuid = symbols("cuDeviceGetUuid_v2");
  Function<int*, int, cuda::Device> attribute = symbols("cuDeviceGetAttribute");
  Function<std::size_t*, cuda::Device> memory_size = symbols("cuDeviceTotalMem_v2");
  Function<char*, int, cuda::Device> pci_bus_id = symbols("cuDeviceGetPCIBusId");

  // Functions for measuring, which listing does not need. All of them act on the current context.
  Function<cuda::Context*, cuda::Device> retain_context = symbols("cuDevicePrimaryCtxRetain");
  Function<cuda::Device> release_context = symbols("cuDevicePrimaryCtxRelease_v2");
  Function<cuda::Context> set_context = symbols("cuCtxSetCurrent");

  Function<cuda::Address*, std::size_t> allocate = symbols("cuMemAlloc_v2");
  Function<cuda::Address> free = symbols("cuMemFree_v2");
  Function<void**, std::size_t, unsigned> pin_host = symbols("cuMemHostAlloc");
  Function<void*> free_host = symbols("cuMemFreeHost");
  Function<cuda::Address, const void*, std::size_t, cuda::Stream> to_device =
      symbols("cuMemcpyHtoDAsync_v2");
  Function<void*, cuda::Address, std::size_t, cuda::Stream> to_host =
      symbols("cuMemcpyDtoHAsync_v2");
  // To, its context, from, its context, bytes, stream.
  Function<cuda::Address, cuda::Context, cuda::Address, cuda::Context, std::size_t, cuda::Stream>
      to_peer = symbols("cuMemcpyPeerAsync");
  Function<cuda::Address, unsigned char, std::size_t, cuda::Stream> fill_bytes =
      symbols("cuMemsetD8Async");
  Function<int*, cuda::Device, cuda::Device> can_access_peer = symbols("cuDeviceCanAccessPeer");
  Function<cuda::Context, unsigned> enable_peer = symbols("cuCtxEnablePeerAccess");

  Function<cuda::Stream*, unsigned> make_stream = symbols("cuStreamCreate");
  Function<cuda::Stream> drop_stream = symbols("cuStreamDestroy_v2");
  Function<cuda::Stream> wait_stream = symbols("cuStreamSynchronize");
  Function<cuda::Event*, unsigned> make_event = symbols("cuEventCreate");
  Function<cuda::Event> drop_event = symbols("cuEventDestroy_v2");
  Function<cuda::Event, cuda::Stream> record_event = symbols("cuEventRecord");
  Function<cuda::Event> wait_event = symbols("cuEventSynchronize");
  // In milliseconds.
  Function<float*, cuda::Event, cuda::Event> elapsed = symbols("cuEventElapsedTime");

  Function<cuda::Module*, const void*> load_module = symbols("cuModuleLoadData");
  Function<cuda::Module> unload_module = symbols("cuModuleUnload");
  Function<cuda::Function*, cuda::Module, const char*> find_function =
      symbols("cuModuleGetFunction");
  // Function, grid's x y z, block's x y z, shared bytes, stream, arguments, extra.
  Function<cuda::Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
           cuda::Stream, void**, void**>
      launch = symbols("cuLaunchKernel");

  Function<cuda::Stream, int> begin_capture = symbols("cuStreamBeginCapture_v2");
  Function<cuda::Stream, cuda::Graph*> end_capture = symbols("cuStreamEndCapture");
  Function<cuda::GraphRun*, cuda::Graph, unsigned long long> make_graph_run =
      symbols("cuGraphInstantiateWithFlags");
  Function<cuda::GraphRun, cuda::Stream> launch_graph = symbols("cuGraphLaunch");
  Function<cuda::GraphRun> drop_graph_run = symbols("cuGraphExecDestroy");
  Function<cuda::Graph> drop_graph = symbols("cuGraphDestroy");
};

// Loads libcuda.so.1, or `path` where one is given. Makes no context and calls nothing.
//
// Errors: kNotFound with the loader's message; Absent() "driver_too_old" where a function is
// missing.
absl::StatusOr<CudaDriver> LoadCudaDriver(const std::string& path);

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_CUDA_DRIVER_H_
