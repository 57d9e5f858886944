// The functions of libnvidia-ml.so.1 for watching GPUs: their list, and performance monitoring.
// Declared again here, from NVML's header and not from the server's own declarations.
#include <cstdio>

#include "tests/gpu_probe/cuda/scripted_host.h"

namespace sextant::probe {
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

FakeGpu* GpuAt(nvml::Device device) { return reinterpret_cast<FakeGpu*>(device); }

// Half of the time in matrix units, on three quarters of the multiprocessors.
double PercentOf(unsigned metric_id) {
  switch (metric_id) {
    case 2:
      return 75;
    case 5:
      return 50;
    case 10:
      return 25;
    default:
      return -1;
  }
}

}  // namespace
}  // namespace sextant::probe

using sextant::probe::GpuAt;
using sextant::probe::ScriptedHost;
using sextant::probe::nvml::Device;

extern "C" {
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = static_cast<unsigned>(ScriptedHost().gpus.size());
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
  if (index >= ScriptedHost().gpus.size()) return sextant::probe::kInvalidArgument;
  *device = reinterpret_cast<Device>(&ScriptedHost().gpus[index]);
  return 0;
}
int nvmlDeviceGetUUID(Device device, char* text, unsigned size) {
  std::snprintf(text, size, "%s", sextant::probe::FakeHost::UuidOf(*GpuAt(device)).c_str());
  return 0;
}
int nvmlDeviceGetMigMode(Device device, unsigned* current, unsigned* pending) {
  *current = GpuAt(device)->mig_mode;
  *pending = GpuAt(device)->mig_mode;
  return 0;
}
int nvmlGpmQueryDeviceSupport(Device device, sextant::probe::GpmSupport* support) {
  if (support->version != 1) return sextant::probe::kInvalidArgument;
  support->is_supported_device = GpuAt(device)->major >= 9 ? 1 : 0;
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
int nvmlGpmSampleGet(Device device, int* sample) {
  sextant::probe::FakeGpu& gpu = *GpuAt(device);
  if (gpu.on_question) gpu.on_question();
  *sample = 1;
  return gpu.nvml_code;
}
int nvmlGpmMetricsGet(sextant::probe::GpmMetricsGet* request) {
  if (request->version != 1 || *request->sample1 != 1 || *request->sample2 != 1) {
    return sextant::probe::kInvalidArgument;
  }
  for (unsigned i = 0; i < request->metric_count; ++i) {
    sextant::probe::GpmMetric& metric = request->metrics[i];
    metric.value = sextant::probe::PercentOf(metric.metric_id);
    metric.return_code = metric.value < 0 ? sextant::probe::kNotSupported : 0;
  }
  return 0;
}
}
