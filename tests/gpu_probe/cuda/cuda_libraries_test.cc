// The loaders, on the real libraries where this host has them: they need no GPU to be loaded.
#include "gpu_probe/cuda/cuda_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "gpu_probe/cuda/cuda_driver.h"
#include "gpu_probe/cuda/nvml.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/support/temporary_folder.h"

namespace sextant::probe {
namespace {

using ::testing::StartsWith;

constexpr char kToolkit[] = "/usr/local/cuda/lib64";
constexpr int kAnyCuda = 99000;

bool HasToolkit(const std::string& file) {
  return std::filesystem::exists(absl::StrCat(kToolkit, "/", file));
}

TEST(CudaDriverTest, TheStubHasEveryFunctionAndSaysThatItIsOne) {
  if (!HasToolkit("stubs/libcuda.so")) GTEST_SKIP() << "there is no stub of libcuda here";
  const auto driver = LoadCudaDriver(absl::StrCat(kToolkit, "/stubs/libcuda.so")).value();
  EXPECT_EQ(driver.init(0), 34);
  int count = -1;
  EXPECT_NE(driver.device_count(&count), 0);
}

TEST(CudaDriverTest, AnotherLibraryIsNoDriver) {
  const absl::Status status = LoadCudaDriver("libm.so.6").status();
  EXPECT_EQ(FailureOf(status).reason(), "driver_too_old");
  EXPECT_THAT(status, Says("has no cuInit"));
  EXPECT_EQ(LoadCudaDriver("/nowhere/libcuda.so.1").status().code(), absl::StatusCode::kNotFound);
}

TEST(LoadNvmlTest, AnotherLibraryIsNotNvml) {
  EXPECT_THAT(LoadNvml("libm.so.6"), Says("is not NVML"));
  EXPECT_THAT(LoadNvml("/nowhere/libnvidia-ml.so.1"), Says("/nowhere/libnvidia-ml.so.1"));
}

TEST(CublasLtTest, MakesDescriptorsWithoutAGpu) {
  if (!HasToolkit("libcublasLt.so.13")) GTEST_SKIP() << "cuBLASLt 13 is not installed here";
  const auto library = LoadCublasLt({.folder = kToolkit, .supported_cuda = kAnyCuda}).value();
  EXPECT_THAT(library.version, StartsWith("13."));
  // bf16 (14) times bf16 with sums and scales in fp32 (compute type 68, type 0).
  void* matmul = nullptr;
  ASSERT_EQ(library.matmul_create(&matmul, 68, 0), 0);
  const int transposed = 1;
  EXPECT_EQ(library.matmul_set(matmul, 3, &transposed, sizeof(transposed)), 0);
  void* layout = nullptr;
  ASSERT_EQ(library.layout_create(&layout, 14, 1024, 512, 1024), 0);
  const int batch_count = 4;
  EXPECT_EQ(library.layout_set(layout, 5, &batch_count, sizeof(batch_count)), 0);
  EXPECT_NE(library.layout_set(layout, 5, &batch_count, 1), 0) << "a size that is wrong";
  void* preference = nullptr;
  ASSERT_EQ(library.preference_create(&preference), 0);
  const uint64_t workspace_bytes = 32 << 20;
  EXPECT_EQ(library.preference_set(preference, 1, &workspace_bytes, sizeof(workspace_bytes)), 0);
  EXPECT_EQ(library.preference_destroy(preference), 0);
  EXPECT_EQ(library.layout_destroy(layout), 0);
  EXPECT_EQ(library.matmul_destroy(matmul), 0);
}

TEST(CublasLtTest, OneOfCuda13IsNotForADriverOfCuda12) {
  if (!HasToolkit("libcublasLt.so.13") || HasToolkit("libcublasLt.so.12")) {
    GTEST_SKIP() << "this host has not just cuBLASLt 13";
  }
  const absl::Status status = LoadCublasLt({.folder = kToolkit, .supported_cuda = 12040}).status();
  EXPECT_EQ(FailureOf(status).reason(), "no_cublaslt");
  EXPECT_THAT(status, Says("supports CUDA 12.4"));
  EXPECT_THAT(status, Says("libcublasLt.so.12"));
}

TEST(CudaLibrariesTest, WhatIsNotThereIsSaidByName) {
  const CudaLibrarySearch nowhere = {.folder = "/nowhere", .supported_cuda = kAnyCuda};
  EXPECT_THAT(LoadCublasLt(nowhere), IsFailure(v1::ProbeFailure::KIND_UNSUPPORTED, "no_cublaslt",
                                               "/nowhere/libcublasLt.so.13"));
  EXPECT_THAT(LoadCudnn(nowhere), Says("libcudnn.so.9"));
  EXPECT_THAT(LoadNccl(nowhere), Says("libnccl.so.2"));
}

TEST(CudaLibrariesTest, AnotherLibraryUnderThatNameIsNotTaken) {
  const TemporaryFolder folder;
  const std::string libm = "/lib/x86_64-linux-gnu/libm.so.6";
  if (!std::filesystem::exists(libm)) GTEST_SKIP() << "there is no " << libm;
  for (const char* name : {"libcublasLt.so.13", "libcudnn.so.9", "libnccl.so.2"}) {
    std::filesystem::create_symlink(libm, folder.File(name));
  }
  const CudaLibrarySearch there = {.folder = folder.path(), .supported_cuda = kAnyCuda};
  EXPECT_THAT(LoadCublasLt(there), Says("has no cublasLtGetVersion"));
  EXPECT_THAT(LoadCudnn(there), Says("has no cudnn"));
  EXPECT_THAT(LoadNccl(there), Says("has no ncclGetVersion"));
}

TEST(CudaLibrariesTest, CudnnAndNcclTellTheirVersions) {
  const CudaLibrarySearch toolkit = {.folder = kToolkit, .supported_cuda = kAnyCuda};
  if (!HasToolkit("libcudnn.so.9") || !HasToolkit("libnccl.so.2")) {
    GTEST_SKIP() << "cuDNN or NCCL is not installed here";
  }
  EXPECT_THAT(LoadCudnn(toolkit).value().version, StartsWith("9."));
  EXPECT_THAT(LoadNccl(toolkit).value().version, StartsWith("2."));
}

}  // namespace
}  // namespace sextant::probe
