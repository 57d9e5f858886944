// A host with scripted GPUs, as implementations of the tables of functions that the probe calls.
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
#include "gpu_probe/cuda/cuda_system.h"
#include "gpu_probe/cuda/nvml.h"
#include "tests/gpu_probe/cuda/fake_cuda.h"

namespace sextant::probe {

inline constexpr unsigned long long kFakeGiB = 1ULL << 30;

// An idle H200, with its published figures. Fields may change at any time.
struct FakeGpu {
  unsigned char identity = 0;  // each byte of its UUID
  std::string name = "NVIDIA H200";
  std::string pci_bus_id = "0000:19:00.0";
  std::size_t memory_bytes = 150'754'820'096;
  int multiprocessor_count = 132;
  int cache_bytes = 62'914'560;
  int major = 9;
  int minor = 0;
  int cuda_code = 0;  // CUDA's answer to every query; 0 for the truth

  // Its behaviour when it computes. Times are those of these rates, times `slowness`.
  double bf16_flops_per_second = 8e14;
  double memory_bytes_per_second = 4.3e12;
  double fp32_flops_per_second = 6e13;
  double host_bytes_per_second = 5.5e10;
  double peer_bytes_per_second = 3.9e11;  // 0: it can't access other GPUs
  double slowness = 1;
  int multiprocessors_in_use = 132;          // that blocks are distributed to
  int wrong_multiprocessor = -1;             // whose arithmetic is wrong; -1: none
  std::set<std::string> wrong_kernels = {};  // kernels named check_... that report wrong results
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
  std::vector<int> nvlinks = std::vector<int>(18, 1);  // the state of each link
  int nvml_code = nvml::kSuccess;                      // NVML's answer to queries about it

  // Called before NVML answers any query about it: to hang, or to change it while it is read.
  std::function<void()> on_question = {};

  // Takes `bytes` of the free memory.
  void Take(unsigned long long bytes) {
    memory.free -= bytes;
    memory.used += bytes;
  }
};

// Must outlive its tables.
class FakeHost {
 public:
  // Makes that many idle GPUs, with identities from 1 on, and PCI addresses in that order.
  explicit FakeHost(int gpu_count);

  // In CUDA's order; NVML's is the reverse. CUDA_VISIBLE_DEVICES is obeyed where it names a GPU by
  // its UUID.
  std::deque<FakeGpu> gpus;
  int cuda_version = 13000;
  int cuda_init_code = 0;
  int cuda_init_count = 0;  // number of CUDA's starts
  int nvml_init_code = nvml::kSuccess;
  std::string driver_version = "580.65.06";
  CudaEnvironment environment = {};
  FakeCuda cuda{*this};

  // Schedules `change` for when the clock has advanced by `seconds` from the start.
  void At(double seconds, std::function<void()> change);
  // Advances the clock, and runs changes that are due.
  void Sleep(double seconds);
  double slept_seconds() const { return now_seconds_; }

  CudaDriver Driver();
  Nvml NvmlTable();
  // Both libraries, started. Defined here, since the fake libraries, which don't use it, link no
  // code of the probe.
  CudaSystem System() {
    return {.driver = Driver(), .nvml = StartNvml(NvmlTable()), .environment = environment};
  }

  static std::string UuidOf(const FakeGpu& gpu);

 private:
  void AddIdentities(Nvml* out);

  std::vector<int> visible_;  // to CUDA, since its start
  double now_seconds_ = 0;
  std::vector<std::pair<double, std::function<void()>>> changes_;
};

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_CUDA_FAKE_HOST_H_
