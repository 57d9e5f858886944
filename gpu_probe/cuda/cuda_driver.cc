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
  if (missing.empty()) return driver;
  return Absent(kDriverTooOld, absl::StrCat(library.name(), " has no ", missing,
                                            ": it is of a driver before CUDA 12, or is no CUDA "
                                            "driver; install a newer driver"));
}

}  // namespace sextant
