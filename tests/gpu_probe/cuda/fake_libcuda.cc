// libcuda.so.1 as a host with GPUs has it, under the driver's own names; $SEXTANT_FAKE_GPU says
// what the GPUs do (scripted_host.h).
#include "tests/gpu_probe/cuda/scripted_host.h"

namespace sextant {
namespace {

const CudaDriver& ScriptedDriver() {
  static const CudaDriver* const driver = new CudaDriver(ScriptedHost().Driver());
  return *driver;
}

}  // namespace
}  // namespace sextant

using sextant::ScriptedDriver;

extern "C" {
int cuInit(unsigned flags) { return ScriptedDriver().init(flags); }
int cuDriverGetVersion(int* version) { return ScriptedDriver().driver_version(version); }
int cuDeviceGetCount(int* count) { return ScriptedDriver().device_count(count); }
int cuDeviceGet(int* device, int index) { return ScriptedDriver().device(device, index); }
int cuDeviceGetName(char* name, int size, int device) {
  return ScriptedDriver().name(name, size, device);
}
int cuDeviceGetUuid_v2(sextant::cuda::Uuid* uuid, int device) {
  return ScriptedDriver().uuid(uuid, device);
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  return ScriptedDriver().attribute(value, attribute, device);
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  return ScriptedDriver().memory_size(bytes, device);
}
int cuDeviceGetPCIBusId(char* text, int size, int device) {
  return ScriptedDriver().pci_bus_id(text, size, device);
}
}
