// libcuda.so.1 as a host with GPUs has it, under the driver's own names; $SEXTANT_FAKE_GPU says
// what the GPUs do (scripted_host.h). Statuses are passed on by type: the driver's table has it.
#include "tests/gpu_probe/cuda/scripted_host.h"

namespace sextant::probe {
namespace {

const CudaDriver& ScriptedDriver() {
  static const CudaDriver* const driver = new CudaDriver(ScriptedHost().Driver());
  return *driver;
}

}  // namespace
}  // namespace sextant::probe

using sextant::probe::ScriptedDriver;

extern "C" {
int cuInit(unsigned flags) { return ScriptedDriver().init(flags); }
int cuDriverGetVersion(int* version) { return ScriptedDriver().driver_version(version); }
int cuDeviceGetCount(int* count) { return ScriptedDriver().device_count(count); }
int cuDeviceGet(int* device, int index) { return ScriptedDriver().device(device, index); }
int cuDeviceGetName(char* name, int size, int device) {
  return ScriptedDriver().name(name, size, device);
}
int cuDeviceGetUuid_v2(sextant::probe::cuda::Uuid* uuid, int device) {
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
int cuDevicePrimaryCtxRetain(sextant::probe::cuda::Context* a, sextant::probe::cuda::Device b) {
  return ScriptedDriver().retain_context(a, b);
}
int cuDevicePrimaryCtxRelease_v2(sextant::probe::cuda::Device a) {
  return ScriptedDriver().release_context(a);
}
int cuCtxSetCurrent(sextant::probe::cuda::Context a) { return ScriptedDriver().set_context(a); }
int cuMemAlloc_v2(sextant::probe::cuda::Address* a, std::size_t b) {
  return ScriptedDriver().allocate(a, b);
}
int cuMemFree_v2(sextant::probe::cuda::Address a) { return ScriptedDriver().free(a); }
int cuMemHostAlloc(void** a, std::size_t b, unsigned c) {
  return ScriptedDriver().pin_host(a, b, c);
}
int cuMemFreeHost(void* a) { return ScriptedDriver().free_host(a); }
int cuMemcpyHtoDAsync_v2(sextant::probe::cuda::Address a, const void* b, std::size_t c,
                         sextant::probe::cuda::Stream d) {
  return ScriptedDriver().to_device(a, b, c, d);
}
int cuMemcpyDtoHAsync_v2(void* a, sextant::probe::cuda::Address b, std::size_t c,
                         sextant::probe::cuda::Stream d) {
  return ScriptedDriver().to_host(a, b, c, d);
}
int cuMemcpyPeerAsync(sextant::probe::cuda::Address a, sextant::probe::cuda::Context b,
                      sextant::probe::cuda::Address c, sextant::probe::cuda::Context d,
                      std::size_t e, sextant::probe::cuda::Stream f) {
  return ScriptedDriver().to_peer(a, b, c, d, e, f);
}
int cuMemsetD8Async(sextant::probe::cuda::Address a, unsigned char b, std::size_t c,
                    sextant::probe::cuda::Stream d) {
  return ScriptedDriver().fill_bytes(a, b, c, d);
}
int cuDeviceCanAccessPeer(int* a, sextant::probe::cuda::Device b, sextant::probe::cuda::Device c) {
  return ScriptedDriver().can_access_peer(a, b, c);
}
int cuCtxEnablePeerAccess(sextant::probe::cuda::Context a, unsigned b) {
  return ScriptedDriver().enable_peer(a, b);
}
int cuStreamCreate(sextant::probe::cuda::Stream* a, unsigned b) {
  return ScriptedDriver().make_stream(a, b);
}
int cuStreamDestroy_v2(sextant::probe::cuda::Stream a) { return ScriptedDriver().drop_stream(a); }
int cuStreamSynchronize(sextant::probe::cuda::Stream a) { return ScriptedDriver().wait_stream(a); }
int cuEventCreate(sextant::probe::cuda::Event* a, unsigned b) {
  return ScriptedDriver().make_event(a, b);
}
int cuEventDestroy_v2(sextant::probe::cuda::Event a) { return ScriptedDriver().drop_event(a); }
int cuEventRecord(sextant::probe::cuda::Event a, sextant::probe::cuda::Stream b) {
  return ScriptedDriver().record_event(a, b);
}
int cuEventSynchronize(sextant::probe::cuda::Event a) { return ScriptedDriver().wait_event(a); }
int cuEventElapsedTime(float* a, sextant::probe::cuda::Event b, sextant::probe::cuda::Event c) {
  return ScriptedDriver().elapsed(a, b, c);
}
int cuModuleLoadData(sextant::probe::cuda::Module* a, const void* b) {
  return ScriptedDriver().load_module(a, b);
}
int cuModuleUnload(sextant::probe::cuda::Module a) { return ScriptedDriver().unload_module(a); }
int cuModuleGetFunction(sextant::probe::cuda::Function* a, sextant::probe::cuda::Module b,
                        const char* c) {
  return ScriptedDriver().find_function(a, b, c);
}
int cuLaunchKernel(sextant::probe::cuda::Function a, unsigned b, unsigned c, unsigned d, unsigned e,
                   unsigned f, unsigned g, unsigned h, sextant::probe::cuda::Stream i, void** j,
                   void** k) {
  return ScriptedDriver().launch(a, b, c, d, e, f, g, h, i, j, k);
}
int cuStreamBeginCapture_v2(sextant::probe::cuda::Stream a, int b) {
  return ScriptedDriver().begin_capture(a, b);
}
int cuStreamEndCapture(sextant::probe::cuda::Stream a, sextant::probe::cuda::Graph* b) {
  return ScriptedDriver().end_capture(a, b);
}
int cuGraphInstantiateWithFlags(sextant::probe::cuda::GraphRun* a, sextant::probe::cuda::Graph b,
                                unsigned long long c) {
  return ScriptedDriver().make_graph_run(a, b, c);
}
int cuGraphLaunch(sextant::probe::cuda::GraphRun a, sextant::probe::cuda::Stream b) {
  return ScriptedDriver().launch_graph(a, b);
}
int cuGraphExecDestroy(sextant::probe::cuda::GraphRun a) {
  return ScriptedDriver().drop_graph_run(a);
}
int cuGraphDestroy(sextant::probe::cuda::Graph a) { return ScriptedDriver().drop_graph(a); }
}
