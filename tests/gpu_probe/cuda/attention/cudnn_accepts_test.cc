// Checks that the real cuDNN accepts the probe's graphs: it chooses and compiles kernels for
// described GPUs and reports their workspace, without any GPU. Nothing is run.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_format.h"
#include "gpu_probe/cuda/attention/cudnn_attention.h"
#include "gpu_probe/cuda/attention/cudnn_graph.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/support/status_matchers.h"

// Under AddressSanitizer: what cuDNN compiles with keeps memory that nobody frees.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace sextant::probe {
namespace {

constexpr char kToolkitFolder[] = "/usr/local/cuda/lib64";

struct DescribedGpu {
  const char* name;
  int compute_capability;  // 90 for 9.0
  int multiprocessor_count;
  int shared_bytes;  // that a block may have
};

// In the words of the library's own description of a GPU.
std::string JsonOf(const DescribedGpu& gpu) {
  return absl::StrFormat(
      R"({"deviceName": "%s", "deviceVer": %d, "multiProcessorCount": %d,
          "maxSharedMemoryPerBlockOptin": %d, "cudaDeviceId": 0, "driverVer": 13000,
          "maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64],
          "regsPerBlock": 65536, "smClockRateKHz": 1800000, "memClockRateKHz": 2600000,
          "l2CacheSize": 52428800, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
          "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536, "pciDeviceId": 1,
          "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048,
          "isTccDriver": 0, "supportCoopLaunch": 1, "totalGlobalMem": 80000000000})",
      gpu.name, gpu.compute_capability * 10, gpu.multiprocessor_count, gpu.shared_bytes);
}

// A GPU described by the library's own JSON; it need not be installed, since nothing is run on it.
absl::StatusOr<CudnnDescriptor> CudnnDeviceFrom(const SharedCudnn& cudnn, const std::string& json) {
  constexpr int kDeviceProperties = 38;
  constexpr int kDeviceJson = 2702;
  constexpr int kOfChar = 24;
  CudnnDescriptor device(cudnn, kDeviceProperties);
  device.Set(kDeviceJson, kOfChar, static_cast<int64_t>(json.size()), json.data());
  if (absl::Status status = device.Finalize(); !status.ok()) return status;
  return device;
}

class CudnnAcceptsTest : public ::testing::TestWithParam<DescribedGpu> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(std::string(kToolkitFolder) + "/libcudnn.so.9")) {
      GTEST_SKIP() << "cuDNN 9 is not installed here";
    }
    // Loaded before cuDNN, which takes the libcuda.so.1 that is there.
    ASSERT_NE(dlopen(SEXTANT_DRIVER_FOR_CUDNN, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
    auto cudnn = LoadCudnn({.folder = kToolkitFolder, .supported_cuda = 13000});
    ASSERT_THAT(cudnn, IsOk());
    cudnn_ = std::make_shared<const Cudnn>(*std::move(cudnn));
    auto device = CudnnDeviceFrom(cudnn_, JsonOf(GetParam()));
    ASSERT_THAT(device, IsOk());
    device_ = *std::move(device);
  }

  absl::StatusOr<CudnnPlan> Forward(const GpuAttentionShape& shape, CudnnKernelCache* cache) {
    auto graph = ForwardAttentionGraph(cudnn_, shape, {.dynamic_shapes = cache != nullptr});
    if (!graph.ok()) return graph.status();
    return PlanOf(*std::move(graph), {.description = &device_}, cache);
  }

  SharedCudnn cudnn_;
  CudnnDescriptor device_;
};

TEST_P(CudnnAcceptsTest, EveryForwardPassWithTheCacheOfItsKind) {
  std::map<std::string, CudnnKernelCache> caches;
  for (const GpuAttentionShape& shape : ForwardAttentionShapes(v1::PROBE_MODE_FULL)) {
    CudnnKernelCache& cache =
        caches[absl::StrFormat("%d %d %d", shape.head_size, shape.value_head_size, shape.causal)];
    const auto plan = Forward(shape, &cache);
    ASSERT_THAT(plan, IsOk()) << shape.Text();
    EXPECT_LE(plan->workspace_bytes, AttentionBytesOf(shape, /*backward=*/false).back())
        << shape.Text();
  }
  EXPECT_EQ(caches.size(), 4);
}

TEST_P(CudnnAcceptsTest, AForwardPassWithAKernelOfItsOwn) {
  EXPECT_THAT(Forward({.batch = 2, .sequence = 1024, .heads = 32, .kv_heads = 8}, nullptr), IsOk());
}

TEST_P(CudnnAcceptsTest, BackwardPasses) {
  const auto shapes = BackwardAttentionShapes(v1::PROBE_MODE_FULL);
  // Both with heads that share keys and without; the others differ in sizes alone.
  for (const GpuAttentionShape& shape : {shapes.at(6), shapes.at(7)}) {
    auto graph = BackwardAttentionGraph(cudnn_, shape, {});
    ASSERT_THAT(graph, IsOk());
    const auto plan = PlanOf(*std::move(graph), {.description = &device_}, nullptr);
    ASSERT_THAT(plan, IsOk()) << shape.Text();
    EXPECT_LE(plan->workspace_bytes, AttentionBytesOf(shape, /*backward=*/true).back())
        << shape.Text();
  }
}

TEST_P(CudnnAcceptsTest, SaysWhatItDoesNotDo) {
  const absl::Status status =
      Forward({.batch = 1, .sequence = 1024, .heads = 2, .kv_heads = 2, .head_size = 100}, nullptr)
          .status();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status, Says("cuDNN 9."));
}

INSTANTIATE_TEST_SUITE_P(Gpus, CudnnAcceptsTest,
                         ::testing::Values(DescribedGpu{"NVIDIA A100-SXM4-80GB", 80, 108, 166'912},
                                           DescribedGpu{"NVIDIA H100 80GB HBM3", 90, 132, 232'448},
                                           DescribedGpu{"NVIDIA B200", 100, 148, 232'448}),
                         [](const auto& gpu) {
                           return absl::StrFormat("Sm%d", gpu.param.compute_capability);
                         });

}  // namespace
}  // namespace sextant::probe
