// A host with GPUs that do as they are told, behind the tables of functions that the probe calls.
#ifndef SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_HOST_H_
#define SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_HOST_H_

#include <cstddef>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gpu_probe/cuda/cuda_driver.h"
#include "gpu_probe/cuda/cuda_environment.h"
#include "gpu_probe/cuda/cuda_system.h"
#include "gpu_probe/cuda/nvml.h"
#include "tests/gpu_probe/cuda/fake_cuda.h"

namespace sextant {

inline constexpr unsigned long long kFakeGiB = 1ULL << 30;

// An idle H200, of the figures that are published of one. Fields may change at any time.
struct FakeGpu {
  unsigned char identity = 0;  // each byte of its UUID
  std::string name = "NVIDIA H200";
  std::string pci_bus_id = "0000:19:00.0";
  std::size_t memory_bytes = 150'754'820'096;
  int multiprocessor_count = 132;
  int cache_bytes = 62'914'560;
  int major = 9;
  int minor = 0;
  int cuda_code = 0;  // what CUDA answers to all that is asked of it; 0 for the truth

  // What it does when it computes. Times are these rates', times `slowness`.
  double bf16_flops_per_second = 8e14;
  double memory_bytes_per_second = 4.3e12;
  double fp32_flops_per_second = 6e13;
  double host_bytes_per_second = 5.5e10;
  double peer_bytes_per_second = 3.9e11;  // 0: it can't reach others
  double slowness = 1;
  int multiprocessors_in_use = 132;          // that blocks are dealt out to
  int wrong_multiprocessor = -1;             // whose arithmetic is wrong; none
  std::set<std::string> wrong_kernels = {};  // of those named check_..., which find wrong results
  std::function<void(const std::string& kernel)> on_launch = {};

  nvml::Memory2 memory = {.version = 0,
                          .total = 140 * kFakeGiB,
                          .reserved = kFakeGiB / 2,
                          .free = 139 * kFakeGiB,
                          .used = kFakeGiB / 2};
  unsigned utilization_percent = 0;
  std::vector<unsigned> process_ids = {};
  std::vector<unsigned> mps_process_ids = {};
  unsigned celsius = 31;
  int compute_mode = nvml::kComputeModeDefault;
  unsigned mig_mode = 0;
  bool mig_instance = false;  // one slice: CUDA sees it and not the GPU
  unsigned long long error_count = 0;
  int ecc_mode = 1;
  int retirement_pending = 0;
  unsigned remap_pending = 0;
  unsigned remap_failed = 0;
  unsigned milliwatts = 700'000;
  unsigned sm_megahertz = 1980;
  unsigned maximum_sm_megahertz = 1980;
  double joules = 1e6;
  unsigned long long throttle_reasons = 0;
  unsigned default_milliwatts = 700'000;
  int persistence = 1;
  unsigned application_sm_megahertz = 1980;
  unsigned application_memory_megahertz = 3201;
  unsigned pcie_generation = 5;
  unsigned pcie_width = 16;
  std::vector<int> nvlinks = std::vector<int>(18, 1);  // the state of each that it has
  int nvml_code = nvml::kSuccess;                      // what NVML answers to questions about it

  // Called before NVML answers anything about it: to hang, or to change while it is read.
  std::function<void()> on_question = {};

  // Takes `bytes` of what is free.
  void Take(unsigned long long bytes) {
    memory.free -= bytes;
    memory.used += bytes;
  }
};

// Must outlive the tables that it gives.
class FakeHost {
 public:
  // With as many idle GPUs, their identities from 1 on, and their PCI addresses in that order.
  explicit FakeHost(int gpu_count);

  // In CUDA's order; NVML's is the other way round. CUDA_VISIBLE_DEVICES is obeyed where it names
  // one by its UUID.
  std::deque<FakeGpu> gpus;
  int cuda_version = 13000;
  int cuda_init_code = 0;
  int cuda_init_count = 0;  // how often CUDA was started
  int nvml_init_code = nvml::kSuccess;
  std::string driver_version = "580.65.06";
  CudaEnvironment environment = {};
  FakeCuda cuda{*this};

  // Has `change` happen once the clock has gone `seconds` from the start.
  void At(double seconds, std::function<void()> change);
  // Lets the clock go on, and what is due happen.
  void Sleep(double seconds);
  double slept_seconds() const { return now_seconds_; }

  CudaDriver Driver();
  Nvml NvmlTable();
  // Both, started. Here, since the fake libraries, which do without, link nothing of the probe.
  CudaSystem System() {
    return {.driver = Driver(), .nvml = StartNvml(NvmlTable()), .environment = environment};
  }

  static std::string UuidOf(const FakeGpu& gpu);

 private:
  void AddIdentities(Nvml* out);

  std::vector<int> visible_;  // to CUDA, since it was started
  double now_seconds_ = 0;
  std::vector<std::pair<double, std::function<void()>>> changes_;
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_HOST_H_
