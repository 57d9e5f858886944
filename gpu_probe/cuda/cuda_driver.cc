#include "gpu_probe/cuda/cuda_driver.h"

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/absence.h"
#include "gpu_probe/cuda/shared_library.h"

namespace sextant {

absl::StatusOr<CudaDriver> LoadCudaDriver(const std::string& path) {
  SEXTANT_ASSIGN_OR_RETURN(const SharedLibrary library,
                           SharedLibrary::Open("", {path.empty() ? "libcuda.so.1" : path}));
  CudaDriver driver;
  std::string missing;
  const auto find = [&](const char* name, auto* out) {
    if (!library.Find(name, out) && missing.empty()) missing = name;
  };
  find("cuInit", &driver.init);
  find("cuDriverGetVersion", &driver.driver_version);
  find("cuDeviceGetCount", &driver.device_count);
  find("cuDeviceGet", &driver.device);
  find("cuDeviceGetName", &driver.name);
  // Version 2, since CUDA 11.4, tells a MIG instance from its GPU; the first one does not.
  find("cuDeviceGetUuid_v2", &driver.uuid);
  find("cuDeviceGetAttribute", &driver.attribute);
  find("cuDeviceTotalMem_v2", &driver.memory_size);
  find("cuDeviceGetPCIBusId", &driver.pci_bus_id);
  find("cuDevicePrimaryCtxRetain", &driver.retain_context);
  find("cuDevicePrimaryCtxRelease_v2", &driver.release_context);
  find("cuCtxSetCurrent", &driver.set_context);
  find("cuMemAlloc_v2", &driver.allocate);
  find("cuMemFree_v2", &driver.free);
  find("cuMemHostAlloc", &driver.pin_host);
  find("cuMemFreeHost", &driver.free_host);
  find("cuMemcpyHtoDAsync_v2", &driver.to_device);
  find("cuMemcpyDtoHAsync_v2", &driver.to_host);
  find("cuMemcpyPeerAsync", &driver.to_peer);
  find("cuMemsetD8Async", &driver.fill_bytes);
  find("cuDeviceCanAccessPeer", &driver.can_access_peer);
  find("cuCtxEnablePeerAccess", &driver.enable_peer);
  find("cuStreamCreate", &driver.make_stream);
  find("cuStreamDestroy_v2", &driver.drop_stream);
  find("cuStreamSynchronize", &driver.wait_stream);
  find("cuEventCreate", &driver.make_event);
  find("cuEventDestroy_v2", &driver.drop_event);
  find("cuEventRecord", &driver.record_event);
  find("cuEventSynchronize", &driver.wait_event);
  find("cuEventElapsedTime", &driver.elapsed);
  find("cuModuleLoadData", &driver.load_module);
  find("cuModuleUnload", &driver.unload_module);
  find("cuModuleGetFunction", &driver.find_function);
  find("cuLaunchKernel", &driver.launch);
  find("cuStreamBeginCapture_v2", &driver.begin_capture);
  find("cuStreamEndCapture", &driver.end_capture);
  find("cuGraphInstantiateWithFlags", &driver.make_graph_run);
  find("cuGraphLaunch", &driver.launch_graph);
  find("cuGraphExecDestroy", &driver.drop_graph_run);
  find("cuGraphDestroy", &driver.drop_graph);
  if (missing.empty()) return driver;
  return Absent(kDriverTooOld, absl::StrCat(library.name(), " has no ", missing,
                                            ": it is of a driver before CUDA 12, or is no CUDA "
                                            "driver; install a newer driver"));
}

}  // namespace sextant
