#include "gpu_probe/cuda/cuda_driver.h"

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_fault.h"
#include "gpu_probe/cuda/cuda_libraries.h"

namespace sextant::probe {
namespace {

// Finds the functions of the driver itself and of the list of devices.
void FindDevices(FunctionFinder& finder, CudaDriver* out) {
  finder.Find("cuInit", &out->init);
  finder.Find("cuDriverGetVersion", &out->driver_version);
  finder.Find("cuDeviceGetCount", &out->device_count);
  finder.Find("cuDeviceGet", &out->device);
  finder.Find("cuDeviceGetName", &out->name);
  // Version 2, since CUDA 11.4, distinguishes a MIG instance from its GPU; the first one does not.
  finder.Find("cuDeviceGetUuid_v2", &out->uuid);
  finder.Find("cuDeviceGetAttribute", &out->attribute);
  finder.Find("cuDeviceTotalMem_v2", &out->memory_size);
  finder.Find("cuDeviceGetPCIBusId", &out->pci_bus_id);
}

// Finds the functions of a context and its memory.
void FindMemory(FunctionFinder& finder, CudaDriver* out) {
  finder.Find("cuDevicePrimaryCtxRetain", &out->retain_context);
  finder.Find("cuDevicePrimaryCtxRelease_v2", &out->release_context);
  finder.Find("cuCtxSetCurrent", &out->set_context);
  finder.Find("cuMemAlloc_v2", &out->allocate);
  finder.Find("cuMemFree_v2", &out->free);
  finder.Find("cuMemHostAlloc", &out->pin_host);
  finder.Find("cuMemFreeHost", &out->free_host);
  finder.Find("cuMemcpyHtoDAsync_v2", &out->to_device);
  finder.Find("cuMemcpyDtoHAsync_v2", &out->to_host);
  finder.Find("cuMemcpyPeerAsync", &out->to_peer);
  finder.Find("cuMemsetD8Async", &out->fill_bytes);
  finder.Find("cuDeviceCanAccessPeer", &out->can_access_peer);
  finder.Find("cuCtxEnablePeerAccess", &out->enable_peer);
}

// Finds the functions of streams, events, kernels, and recordings of them.
void FindWork(FunctionFinder& finder, CudaDriver* out) {
  finder.Find("cuStreamCreate", &out->make_stream);
  finder.Find("cuStreamDestroy_v2", &out->drop_stream);
  finder.Find("cuStreamSynchronize", &out->wait_stream);
  finder.Find("cuEventCreate", &out->make_event);
  finder.Find("cuEventDestroy_v2", &out->drop_event);
  finder.Find("cuEventRecord", &out->record_event);
  finder.Find("cuEventSynchronize", &out->wait_event);
  finder.Find("cuEventElapsedTime", &out->elapsed);
  finder.Find("cuModuleLoadData", &out->load_module);
  finder.Find("cuModuleUnload", &out->unload_module);
  finder.Find("cuModuleGetFunction", &out->find_function);
  finder.Find("cuLaunchKernel", &out->launch);
  finder.Find("cuStreamBeginCapture_v2", &out->begin_capture);
  finder.Find("cuStreamEndCapture", &out->end_capture);
  finder.Find("cuGraphInstantiateWithFlags", &out->make_graph_run);
  finder.Find("cuGraphLaunch", &out->launch_graph);
  finder.Find("cuGraphExecDestroy", &out->drop_graph_run);
  finder.Find("cuGraphDestroy", &out->drop_graph);
}

}  // namespace

absl::StatusOr<CudaDriver> LoadCudaDriver(const std::string& path) {
  SEXTANT_ASSIGN_OR_RETURN(const SharedLibrary library,
                           SharedLibrary::Open("", {path.empty() ? "libcuda.so.1" : path}));
  CudaDriver driver;
  FunctionFinder finder(library);
  FindDevices(finder, &driver);
  FindMemory(finder, &driver);
  FindWork(finder, &driver);
  if (finder.missing().empty()) return driver;
  return Absent(kDriverTooOld, absl::StrCat(library.name(), " has no ", finder.missing(),
                                            ": it is of a driver before CUDA 12, or is no CUDA "
                                            "driver; install a newer driver"));
}

}  // namespace sextant::probe
