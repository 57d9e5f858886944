// libnvidia-ml.so.1 as a host with GPUs has it, under NVML's own names; $SEXTANT_FAKE_GPU says
// what the GPUs do (scripted_host.h). Of an older NVML: it has not every function.
#include "tests/gpu_probe/cuda/scripted_host.h"

namespace sextant::probe {
namespace {

const Nvml& ScriptedNvml() {
  static const Nvml* const nvml = new Nvml(ScriptedHost().NvmlTable());
  return *nvml;
}

}  // namespace
}  // namespace sextant::probe

using sextant::probe::ScriptedNvml;
using sextant::probe::nvml::Device;

extern "C" {
int nvmlInit_v2() { return ScriptedNvml().init(); }
int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return ScriptedNvml().driver_version(text, size);
}
int nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
  return ScriptedNvml().find(uuid, device);
}
int nvmlDeviceGetMemoryInfo_v2(Device device, sextant::probe::nvml::Memory2* memory) {
  return ScriptedNvml().memory2(device, memory);
}
int nvmlDeviceGetUtilizationRates(Device device, sextant::probe::nvml::Utilization* load) {
  return ScriptedNvml().utilization(device, load);
}
int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned* count,
                                            sextant::probe::nvml::ProcessInfo* entries) {
  return ScriptedNvml().processes(device, count, entries);
}
int nvmlDeviceGetPciInfo_v3(Device device, sextant::probe::nvml::PciInfo* pci) {
  return ScriptedNvml().pci_info(device, pci);
}
int nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned* generation) {
  return ScriptedNvml().pcie_generation(device, generation);
}
int nvmlDeviceGetNvLinkState(Device device, unsigned link, int* state) {
  return ScriptedNvml().nvlink_state(device, link, state);
}
int nvmlDeviceGetTemperature(Device device, int sensor, unsigned* celsius) {
  return ScriptedNvml().temperature(device, sensor, celsius);
}
int nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned* milliwatts) {
  return ScriptedNvml().enforced_power_limit(device, milliwatts);
}
}
