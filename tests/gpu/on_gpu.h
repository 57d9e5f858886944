// Tests that need a GPU: skipped, with the reason, where there is none that may be measured.
#ifndef SEXTANT_TESTS_GPU_ON_GPU_H_
#define SEXTANT_TESTS_GPU_ON_GPU_H_

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gpu_probe/cuda/cuda_backend.h"
#include "gpu_probe/cuda/cuda_libraries.h"
#include "gpu_probe/cuda/gpu_session.h"

namespace sextant {

class OnGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const CudaSystem system = OpenCudaSystem();
    // The load that the test before left is seen for up to a second.
    auto admitted = AdmitWithin(system, given_up_ ? 0 : 8);
    given_up_ = !admitted.ok();
    if (!admitted.ok()) GTEST_SKIP() << admitted.status().message();
    if (KernelImages().empty()) GTEST_SKIP() << "built without nvcc";
    libraries_.supported_cuda = SupportedCuda(*system.driver);
    auto session = GpuSession::Open({.driver = *system.driver,
                                     .gpu = std::move(admitted->gpu),
                                     .memory_cap_bytes = admitted->memory_cap_bytes});
    ASSERT_TRUE(session.ok()) << session.status();
    session_ = *std::move(session);
  }

  DeviceMemory Allocate(size_t size_bytes) {
    auto memory = DeviceMemory::Allocate(session_, static_cast<int64_t>(size_bytes));
    EXPECT_TRUE(memory.ok()) << memory.status();
    return memory.ok() ? *std::move(memory) : DeviceMemory();
  }
  template <typename T>
  std::vector<T> Read(const DeviceMemory& from, size_t count) {
    std::vector<T> out(count);
    const absl::Status copied =
        session_->CopyToHost(out.data(), from.address(), static_cast<int64_t>(count * sizeof(T)));
    EXPECT_TRUE(copied.ok()) << copied;
    return out;
  }

  SharedSession session_;
  CudaLibrarySearch libraries_;

 private:
  static void Sleep(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }

  // Asks again, up to `more` times, while the GPU is refused.
  static absl::StatusOr<AdmittedGpu> AdmitWithin(const CudaSystem& system, int more) {
    auto admitted = AdmitGpu(system, "", Sleep);
    if (more == 0 || !absl::IsAborted(admitted.status())) return admitted;
    Sleep(0.25);
    return AdmitWithin(system, more - 1);
  }

  // Whether a test waited in vain: those after it don't wait again.
  static inline bool given_up_ = false;
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_GPU_ON_GPU_H_
