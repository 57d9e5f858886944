// The libraries of a host with GPUs, under their own names: libcuda.so.1, libnvidia-ml.so.1 (of an
// older NVML: it has not every function), libcublasLt.so.13, libcudnn.so.9 and libnccl.so.2.
// $SEXTANT_FAKE_GPU says what the GPUs do. Statuses are passed on by type: the tables have it.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/gpu_probe/cuda/fake_cublaslt.h"
#include "tests/gpu_probe/cuda/fake_cudnn.h"
#include "tests/gpu_probe/cuda/fake_host.h"
#include "tests/gpu_probe/cuda/fake_nccl.h"

namespace sextant::probe {
namespace {

using cuda::Address;
using cuda::Context;
using cuda::Event;
using cuda::Function;
using cuda::Graph;
using cuda::GraphRun;
using cuda::Module;
using cuda::Stream;
using Gpu = nvml::Device;

// Eight idle GPUs. Variants: the first one busy; busy, and not to be touched by CUDA; hot; wrong in
// multiplications; or never answering NVML. The sixth slow. No GPU at all. A driver that is too
// old.
FakeHost* MakeHost() {
  const char* const name = std::getenv("SEXTANT_FAKE_GPU");
  const std::string script = name == nullptr ? "" : name;
  auto* const made = new FakeHost(8);
  FakeGpu& first = made->gpus.front();
  if (script == "busy" || script == "untouched") first.process_ids = {71};
  if (script == "untouched") made->cuda_init_code = 999;
  if (script == "hot") first.celsius = 91;
  if (script == "wrong") first.wrong_kernels = {"check_matmul"};
  if (script == "lost") first.nvml_code = nvml::kGpuIsLost;
  if (script == "slow") made->gpus[5].slowness = 1.15;
  if (script == "none") made->cuda_init_code = 100;
  if (script == "old") made->cuda_version = 11040;
  if (script == "hang") {
    first.on_question = [] {
      while (true) pause();
    };
  }
  return made;
}

FakeHost& Host() {
  static FakeHost* const host = MakeHost();
  return *host;
}

const CudaDriver& Driver() {
  static const auto* const table = new CudaDriver(Host().Driver());
  return *table;
}
const Nvml& Ml() {
  static const auto* const table = new Nvml(Host().NvmlTable());
  return *table;
}
const CublasLt& Lt() {
  static const auto* const table = new CublasLt((new FakeCublasLt(Host()))->Table());
  return *table;
}
const Cudnn& Dnn() {
  static const auto* const table = new Cudnn((new FakeCudnn(Host()))->Table());
  return *table;
}
const Nccl& Ccl() {
  static const auto* const table = new Nccl((new FakeNccl(Host()))->Table());
  return *table;
}

}  // namespace

// A function of a library that calls the one of its table.
#define SEXTANT_CALL(table, name, member, parameters, arguments) \
  extern "C" int name parameters { return table().member arguments; }

SEXTANT_CALL(Driver, cuInit, init, (unsigned a), (a))
SEXTANT_CALL(Driver, cuDriverGetVersion, driver_version, (int* a), (a))
SEXTANT_CALL(Driver, cuDeviceGetCount, device_count, (int* a), (a))
SEXTANT_CALL(Driver, cuDeviceGet, device, (int* a, int b), (a, b))
SEXTANT_CALL(Driver, cuDeviceGetName, name, (char* a, int b, int c), (a, b, c))
SEXTANT_CALL(Driver, cuDeviceGetUuid_v2, uuid, (cuda::Uuid * a, int b), (a, b))
SEXTANT_CALL(Driver, cuDeviceGetAttribute, attribute, (int* a, int b, int c), (a, b, c))
SEXTANT_CALL(Driver, cuDeviceTotalMem_v2, memory_size, (std::size_t * a, int b), (a, b))
SEXTANT_CALL(Driver, cuDeviceGetPCIBusId, pci_bus_id, (char* a, int b, int c), (a, b, c))
SEXTANT_CALL(Driver, cuDevicePrimaryCtxRetain, retain_context, (Context * a, int b), (a, b))
SEXTANT_CALL(Driver, cuDevicePrimaryCtxRelease_v2, release_context, (int a), (a))
SEXTANT_CALL(Driver, cuCtxSetCurrent, set_context, (Context a), (a))
SEXTANT_CALL(Driver, cuMemAlloc_v2, allocate, (Address * a, std::size_t b), (a, b))
SEXTANT_CALL(Driver, cuMemFree_v2, free, (Address a), (a))
SEXTANT_CALL(Driver, cuMemHostAlloc, pin_host, (void** a, std::size_t b, unsigned c), (a, b, c))
SEXTANT_CALL(Driver, cuMemFreeHost, free_host, (void* a), (a))
SEXTANT_CALL(Driver, cuMemcpyHtoDAsync_v2, to_device,
             (Address a, const void* b, std::size_t c, Stream d), (a, b, c, d))
SEXTANT_CALL(Driver, cuMemcpyDtoHAsync_v2, to_host, (void* a, Address b, std::size_t c, Stream d),
             (a, b, c, d))
SEXTANT_CALL(Driver, cuMemcpyPeerAsync, to_peer,
             (Address a, Context b, Address c, Context d, std::size_t e, Stream f),
             (a, b, c, d, e, f))
SEXTANT_CALL(Driver, cuMemsetD8Async, fill_bytes,
             (Address a, unsigned char b, std::size_t c, Stream d), (a, b, c, d))
SEXTANT_CALL(Driver, cuDeviceCanAccessPeer, can_access_peer, (int* a, int b, int c), (a, b, c))
SEXTANT_CALL(Driver, cuCtxEnablePeerAccess, enable_peer, (Context a, unsigned b), (a, b))
SEXTANT_CALL(Driver, cuStreamCreate, make_stream, (Stream * a, unsigned b), (a, b))
SEXTANT_CALL(Driver, cuStreamDestroy_v2, drop_stream, (Stream a), (a))
SEXTANT_CALL(Driver, cuStreamSynchronize, wait_stream, (Stream a), (a))
SEXTANT_CALL(Driver, cuEventCreate, make_event, (Event * a, unsigned b), (a, b))
SEXTANT_CALL(Driver, cuEventDestroy_v2, drop_event, (Event a), (a))
SEXTANT_CALL(Driver, cuEventRecord, record_event, (Event a, Stream b), (a, b))
SEXTANT_CALL(Driver, cuEventSynchronize, wait_event, (Event a), (a))
SEXTANT_CALL(Driver, cuEventElapsedTime, elapsed, (float* a, Event b, Event c), (a, b, c))
SEXTANT_CALL(Driver, cuModuleLoadData, load_module, (Module * a, const void* b), (a, b))
SEXTANT_CALL(Driver, cuModuleUnload, unload_module, (Module a), (a))
SEXTANT_CALL(Driver, cuModuleGetFunction, find_function, (Function * a, Module b, const char* c),
             (a, b, c))
SEXTANT_CALL(Driver, cuLaunchKernel, launch,
             (Function a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f, unsigned g,
              unsigned h, Stream i, void** j, void** k),
             (a, b, c, d, e, f, g, h, i, j, k))
SEXTANT_CALL(Driver, cuStreamBeginCapture_v2, begin_capture, (Stream a, int b), (a, b))
SEXTANT_CALL(Driver, cuStreamEndCapture, end_capture, (Stream a, Graph* b), (a, b))
SEXTANT_CALL(Driver, cuGraphInstantiateWithFlags, make_graph_run,
             (GraphRun * a, Graph b, unsigned long long c), (a, b, c))
SEXTANT_CALL(Driver, cuGraphLaunch, launch_graph, (GraphRun a, Stream b), (a, b))
SEXTANT_CALL(Driver, cuGraphExecDestroy, drop_graph_run, (GraphRun a), (a))
SEXTANT_CALL(Driver, cuGraphDestroy, drop_graph, (Graph a), (a))

SEXTANT_CALL(Ml, nvmlInit_v2, init, (), ())
SEXTANT_CALL(Ml, nvmlSystemGetDriverVersion, driver_version, (char* a, unsigned b), (a, b))
SEXTANT_CALL(Ml, nvmlDeviceGetHandleByUUID, find, (const char* a, Gpu* b), (a, b))
SEXTANT_CALL(Ml, nvmlDeviceGetMemoryInfo_v2, memory2, (Gpu a, nvml::Memory2* b), (a, b))
SEXTANT_CALL(Ml, nvmlDeviceGetUtilizationRates, utilization, (Gpu a, nvml::Utilization* b), (a, b))
SEXTANT_CALL(Ml, nvmlDeviceGetComputeRunningProcesses_v3, processes,
             (Gpu a, unsigned* b, nvml::ProcessInfo* c), (a, b, c))
SEXTANT_CALL(Ml, nvmlDeviceGetPciInfo_v3, pci_info, (Gpu a, nvml::PciInfo* b), (a, b))
SEXTANT_CALL(Ml, nvmlDeviceGetCurrPcieLinkGeneration, pcie_generation, (Gpu a, unsigned* b), (a, b))
SEXTANT_CALL(Ml, nvmlDeviceGetNvLinkState, nvlink_state, (Gpu a, unsigned b, int* c), (a, b, c))
SEXTANT_CALL(Ml, nvmlDeviceGetTemperature, temperature, (Gpu a, int b, unsigned* c), (a, b, c))
SEXTANT_CALL(Ml, nvmlDeviceGetEnforcedPowerLimit, enforced_power_limit, (Gpu a, unsigned* b),
             (a, b))

extern "C" std::size_t cublasLtGetVersion() { return 130100; }
SEXTANT_CALL(Lt, cublasLtCreate, create, (void** a), (a))
SEXTANT_CALL(Lt, cublasLtDestroy, destroy, (void* a), (a))
SEXTANT_CALL(Lt, cublasLtMatmulDescCreate, matmul_create, (void** a, int b, int c), (a, b, c))
SEXTANT_CALL(Lt, cublasLtMatmulDescSetAttribute, matmul_set,
             (void* a, int b, const void* c, std::size_t d), (a, b, c, d))
SEXTANT_CALL(Lt, cublasLtMatmulDescDestroy, matmul_destroy, (void* a), (a))
SEXTANT_CALL(Lt, cublasLtMatrixLayoutCreate, layout_create,
             (void** a, int b, uint64_t c, uint64_t d, int64_t e), (a, b, c, d, e))
SEXTANT_CALL(Lt, cublasLtMatrixLayoutSetAttribute, layout_set,
             (void* a, int b, const void* c, std::size_t d), (a, b, c, d))
SEXTANT_CALL(Lt, cublasLtMatrixLayoutDestroy, layout_destroy, (void* a), (a))
SEXTANT_CALL(Lt, cublasLtMatmulPreferenceCreate, preference_create, (void** a), (a))
SEXTANT_CALL(Lt, cublasLtMatmulPreferenceSetAttribute, preference_set,
             (void* a, int b, const void* c, std::size_t d), (a, b, c, d))
SEXTANT_CALL(Lt, cublasLtMatmulPreferenceDestroy, preference_destroy, (void* a), (a))
SEXTANT_CALL(Lt, cublasLtMatmulAlgoGetHeuristic, choose,
             (void* a, void* b, void* c, void* d, void* e, void* f, void* g, int h,
              CublasLtChoice* i, int* j),
             (a, b, c, d, e, f, g, h, i, j))
SEXTANT_CALL(Lt, cublasLtMatmulAlgoConfigGetAttribute, describe,
             (const uint64_t* a, int b, void* c, std::size_t d, std::size_t* e), (a, b, c, d, e))
SEXTANT_CALL(Lt, cublasLtMatmul, multiply,
             (void* a, void* b, const void* c, const void* d, void* e, const void* f, void* g,
              const void* h, const void* i, void* j, void* k, void* l, const uint64_t* m, void* n,
              std::size_t o, void* p),
             (a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p))

extern "C" std::size_t cudnnGetVersion() { return Dnn().version_number; }
extern "C" void cudnnGetLastErrorString(char* a, std::size_t b) { Dnn().last_error(a, b); }
SEXTANT_CALL(Dnn, cudnnCreate, create, (void** a), (a))
SEXTANT_CALL(Dnn, cudnnDestroy, destroy, (void* a), (a))
SEXTANT_CALL(Dnn, cudnnSetStream, set_stream, (void* a, void* b), (a, b))
SEXTANT_CALL(Dnn, cudnnBackendCreateDescriptor, descriptor_create, (int a, void** b), (a, b))
SEXTANT_CALL(Dnn, cudnnBackendDestroyDescriptor, descriptor_destroy, (void* a), (a))
SEXTANT_CALL(Dnn, cudnnBackendSetAttribute, descriptor_set,
             (void* a, int b, int c, std::int64_t d, const void* e), (a, b, c, d, e))
SEXTANT_CALL(Dnn, cudnnBackendGetAttribute, descriptor_get,
             (void* a, int b, int c, std::int64_t d, std::int64_t* e, void* f), (a, b, c, d, e, f))
SEXTANT_CALL(Dnn, cudnnBackendFinalize, descriptor_finalize, (void* a), (a))
SEXTANT_CALL(Dnn, cudnnBackendExecute, execute, (void* a, void* b, void* c), (a, b, c))

extern "C" int ncclGetVersion(int* version) {
  *version = 22803;
  return 0;
}
SEXTANT_CALL(Ccl, ncclCommInitAll, comm_init_all, (void** a, int b, const int* c), (a, b, c))
SEXTANT_CALL(Ccl, ncclCommAbort, comm_abort, (void* a), (a))
SEXTANT_CALL(Ccl, ncclGroupStart, group_start, (), ())
SEXTANT_CALL(Ccl, ncclGroupEnd, group_end, (), ())
SEXTANT_CALL(Ccl, ncclAllReduce, all_reduce,
             (const void* a, void* b, std::size_t c, int d, int e, void* f, void* g),
             (a, b, c, d, e, f, g))
SEXTANT_CALL(Ccl, ncclReduceScatter, reduce_scatter,
             (const void* a, void* b, std::size_t c, int d, int e, void* f, void* g),
             (a, b, c, d, e, f, g))
SEXTANT_CALL(Ccl, ncclAllGather, all_gather,
             (const void* a, void* b, std::size_t c, int d, void* e, void* f), (a, b, c, d, e, f))
SEXTANT_CALL(Ccl, ncclSend, send, (const void* a, std::size_t b, int c, int d, void* e, void* f),
             (a, b, c, d, e, f))
SEXTANT_CALL(Ccl, ncclRecv, receive, (void* a, std::size_t b, int c, int d, void* e, void* f),
             (a, b, c, d, e, f))

#undef SEXTANT_CALL

// NVML's functions for watching GPUs: their list, and performance monitoring. Declared again here,
// from NVML's header and not from the server's own declarations.

namespace {

constexpr int kInvalidArgument = 2;
constexpr int kNotSupported = 3;

struct GpmSupport {
  unsigned version;
  unsigned is_supported_device;
};

struct GpmMetric {
  unsigned metric_id;
  int return_code;
  double value;
  char* short_name;
  char* long_name;
  char* unit;
};

struct GpmMetricsGet {
  unsigned version;
  unsigned metric_count;
  int* sample1;
  int* sample2;
  GpmMetric metrics[98];  // as the first header with them has it
};

FakeGpu& GpuAt(Gpu device) { return *reinterpret_cast<FakeGpu*>(device); }

// Half of the time in matrix units, on three quarters of the multiprocessors.
double PercentOf(unsigned metric_id) {
  return metric_id == 2 ? 75 : metric_id == 5 ? 50 : metric_id == 10 ? 25 : -1;
}

}  // namespace

extern "C" {
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(Host().gpus.size());
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Gpu* device) {
  if (index >= Host().gpus.size()) return kInvalidArgument;
  *device = reinterpret_cast<Gpu>(&Host().gpus[index]);
  return 0;
}
int nvmlDeviceGetUUID(Gpu device, char* text, unsigned size) {
  std::snprintf(text, size, "%s", FakeHost::UuidOf(GpuAt(device)).c_str());
  return 0;
}
int nvmlDeviceGetMigMode(Gpu device, unsigned* current, unsigned* pending) {
  *current = *pending = GpuAt(device).mig_mode;
  return 0;
}
int nvmlGpmQueryDeviceSupport(Gpu device, GpmSupport* support) {
  if (support->version != 1) return kInvalidArgument;
  support->is_supported_device = GpuAt(device).major >= 9 ? 1 : 0;
  return 0;
}
int nvmlGpmSampleAlloc(int** sample) {
  *sample = new int(0);
  return 0;
}
int nvmlGpmSampleFree(int* sample) {
  delete sample;
  return 0;
}
int nvmlGpmSampleGet(Gpu device, int* sample) {
  FakeGpu& gpu = GpuAt(device);
  if (gpu.on_question) gpu.on_question();
  *sample = 1;
  return gpu.nvml_code;
}
int nvmlGpmMetricsGet(GpmMetricsGet* request) {
  if (request->version != 1 || *request->sample1 != 1 || *request->sample2 != 1) {
    return kInvalidArgument;
  }
  for (unsigned i = 0; i < request->metric_count; ++i) {
    GpmMetric& metric = request->metrics[i];
    metric.value = PercentOf(metric.metric_id);
    metric.return_code = metric.value < 0 ? kNotSupported : 0;
  }
  return 0;
}
}

}  // namespace sextant::probe
