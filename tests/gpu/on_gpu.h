// Tests that need a GPU: skipped, with the reason, where there is none that may be measured.
#ifndef SEXTANT_TESTS_GPU_ON_GPU_H_
#define SEXTANT_TESTS_GPU_ON_GPU_H_

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/status_macros.h"
#include "gpu_probe/cuda/cuda_libraries.h"
#include "gpu_probe/cuda/cuda_system.h"
#include "gpu_probe/cuda/gpu_list.h"
#include "gpu_probe/cuda/gpu_session.h"
#include "gpu_probe/cuda/guard.h"

namespace sextant::probe {

// The GPU of this process: admitted and opened once, before the first test, and closed after the
// last. Admitting it anew for each would meet the load that the test before left.
class GpuOfTests : public ::testing::Environment {
 public:
  void SetUp() override {
    const CudaSystem system = OpenCudaSystem(TakeCudaEnvironment(""));
    session_ = Open(system);
    if (system.driver.ok()) libraries_.supported_cuda = SupportedCuda(*system.driver);
  }
  void TearDown() override { session_ = absl::UnavailableError("closed"); }

  const absl::StatusOr<SharedSession>& session() const { return session_; }
  const CudaLibrarySearch& libraries() const { return libraries_; }

 private:
  static void Sleep(double seconds) {
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  }

  static absl::StatusOr<SharedSession> Open(const CudaSystem& system) {
    SEXTANT_RETURN_IF_ERROR(CheckCuda(system));
    std::string uuid;
    if (const auto uuids = UuidsByNvml(system)) {
      uuid = uuids->front();
      ShowOnlyGpu(uuid);
    } else {
      SEXTANT_ASSIGN_OR_RETURN(const std::vector<Gpu> gpus, ListGpus(system));
      uuid = gpus.front().device.uuid();
    }
    SEXTANT_ASSIGN_OR_RETURN(const Admission admission, AdmitGpu(system, uuid, Sleep));
    SEXTANT_ASSIGN_OR_RETURN(Gpu gpu, FindGpu(system, uuid));
    if (KernelImages().empty()) return absl::UnimplementedError("built without nvcc");
    return GpuSession::Open({.driver = *system.driver,
                             .gpu = std::move(gpu),
                             .memory_cap_bytes = admission.memory_cap_bytes});
  }

  absl::StatusOr<SharedSession> session_ = absl::UnavailableError("not opened");
  CudaLibrarySearch libraries_;
};

// One in all files of tests together.
inline GpuOfTests* const gpu_of_tests = [] {
  auto* const made = new GpuOfTests;
  ::testing::AddGlobalTestEnvironment(made);  // which owns it
  return made;
}();

class OnGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::Status opened = gpu_of_tests->session().status();
    if (IsNoGpuToMeasure(opened)) GTEST_SKIP() << opened.message();
    ASSERT_TRUE(opened.ok()) << opened;
    session_ = *gpu_of_tests->session();
    libraries_ = gpu_of_tests->libraries();
    ASSERT_TRUE(session_->MakeCurrent().ok());
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
  // Absent, refused by the guard, or without kernels for it: anything else is a failure.
  static bool IsNoGpuToMeasure(const absl::Status& status) {
    return absl::IsNotFound(status) || absl::IsAborted(status) || absl::IsUnimplemented(status) ||
           absl::IsResourceExhausted(status);
  }
};

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_ON_GPU_H_
