#include "gpu_probe/cuda/cuda_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "gpu_probe/exit_code.h"
#include "tests/gpu_probe/cuda/fake_host.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

// The status of starting CUDA on a host with two GPUs after `change`.
absl::Status StartedAfter(const std::function<void(FakeHost&, CudaSystem&)>& change) {
  FakeHost host(2);
  CudaSystem system = host.System();
  change(host, system);
  if (system.nvml.ok()) system.nvml = StartNvml(host.NvmlTable());
  return StartCuda(system);
}

struct AbsenceCase {
  const char* word;
  std::vector<const char*> in_message;
  std::function<void(FakeHost&, CudaSystem&)> change;
};

void RemoveNvml(CudaSystem& system) { system.nvml = absl::NotFoundError("libnvidia-ml.so.1: no"); }
void RemoveDriver(CudaSystem& system) { system.driver = absl::NotFoundError("libcuda.so.1: no"); }

TEST(StartCudaTest, SaysWhyThereIsNothingAndWhatToDo) {
  for (const AbsenceCase& c : std::vector<AbsenceCase>{
           {"no_driver",
            {"has no NVIDIA driver", "libcuda.so.1: no", "install one"},
            [](FakeHost&, CudaSystem&system) {
              RemoveDriver(system);
              RemoveNvml(system);
            }},
           // NVML works: it is the container that lacks CUDA's part.
           {"no_driver",
            {"driver 580.65.06 runs", "NVIDIA_DRIVER_CAPABILITIES"},
            [](FakeHost&, CudaSystem&system) { RemoveDriver(system); }},
           {"no_driver",
            {"driver 535.104.05 runs"},
            [](FakeHost&, CudaSystem&system) {
              RemoveDriver(system);
              RemoveNvml(system);
              system.environment.kernel_driver_version = "535.104.05";
            }},
           {"no_driver",
            {"modprobe"},
            [](FakeHost&host, CudaSystem&system) {
              RemoveDriver(system);
              host.nvml_init_code = nvml::kDriverNotLoaded;
            }},
           {"driver_too_old",
            {"470.82.01", "CUDA 11.4", "CUDA 12.0", "driver 525.60.13 or later"},
            [](FakeHost&host, CudaSystem&) {
              host.cuda_version = 11040;
              host.driver_version = "470.82.01";
            }},
           // Kernels that only drivers of CUDA 13 load.
           {"driver_too_old",
            {"CUDA 12.8", "needs CUDA 13.0", "driver 580.65.06 or later"},
            [](FakeHost&host, CudaSystem&system) {
              host.cuda_version = 12080;
              system.oldest_cuda = 13000;
            }},
           {"driver_too_old",
            {"needs CUDA 14.0", "a newer driver"},
            [](FakeHost&host, CudaSystem&system) {
              host.cuda_version = 13000;
              system.oldest_cuda = 14000;
            }},
           {"driver_too_old",
            {"newer"},
            [](FakeHost&host, CudaSystem&) { host.cuda_init_code = 35; }},
           {"no_device",
            {"sees no GPU"},
            [](FakeHost&host, CudaSystem&) { host.cuda_init_code = 100; }},
           {"no_device",
            {"CUDA_VISIBLE_DEVICES=\"\"", "of the 2 that this host has", "unset it"},
            [](FakeHost&host, CudaSystem&system) {
              host.cuda_init_code = 100;
              system.environment.visible_devices = "";
            }},
           {"no_device",
            {"CUDA_VISIBLE_DEVICES=\"7\""},
            [](FakeHost&host, CudaSystem&system) {
              host.cuda_init_code = 100;
              system.environment.visible_devices = "7";
              RemoveNvml(system);
            }},
           {"no_device",
            {"fabricmanager"},
            [](FakeHost&host, CudaSystem&) { host.cuda_init_code = 802; }},
           {"stub",
            {"stub", "LD_LIBRARY_PATH"},
            [](FakeHost&host, CudaSystem&system) {
              host.cuda_init_code = 34;
              system.driver->driver_version = [](int*) { return 34; };
            }},
           {"mismatch", {"reboot"}, [](FakeHost&host, CudaSystem&) { host.cuda_init_code = 803; }},
           // CUDA does not know what is wrong, and NVML does.
           {"mismatch",
            {"NVML's error 18"},
            [](FakeHost&host, CudaSystem&) {
              host.cuda_init_code = 999;
              host.nvml_init_code = nvml::kVersionsDiffer;
            }},
       }) {
    const absl::Status status = StartedAfter(c.change);
    const v1::ProbeFailure failure = FailureOf(status);
    EXPECT_EQ(failure.kind(), v1::ProbeFailure::KIND_UNSUPPORTED) << status;
    EXPECT_EQ(failure.reason(), c.word) << status;
    for (const char* part : c.in_message) EXPECT_THAT(failure.message(), HasSubstr(part));
  }
}

TEST(StartCudaTest, StartsWithAnyDriverOfCuda12AndLater) {
  for (const int version : {12000, 12040, 13000, 14020}) {
    EXPECT_THAT(StartedAfter([&](FakeHost& host, CudaSystem&) { host.cuda_version = version; }),
                IsOk());
  }
  EXPECT_THAT(StartedAfter([](FakeHost&, CudaSystem& system) { RemoveNvml(system); }), IsOk());
}

TEST(StartCudaTest, AnUnknownFaultIsNoAbsence) {
  const absl::Status status =
      StartedAfter([](FakeHost& host, CudaSystem&) { host.cuda_init_code = 999; });
  EXPECT_EQ(FailureOf(status).kind(), v1::ProbeFailure::KIND_INTERNAL);
}

// The promise is what each file's most portable image keeps, and never less than cuBLASLt 12 needs.
TEST(OldestCudaTest, ComesFromTheImagesThatTheProgramHas) {
  EXPECT_EQ(OldestCuda({}), 12000);
  EXPECT_EQ(OldestCuda({{"a", "", 13000}, {"a", "", 11080}, {"b", "", 13000}, {"b", "", 11080}}),
            12000);
  EXPECT_EQ(OldestCuda({{"a", "", 13000}, {"a", "", 12080}, {"b", "", 11080}}), 12080);
  EXPECT_EQ(OldestCuda({{"a", "", 13000}, {"b", "", 13000}}), 13000);
  // One file without a portable image is enough.
  EXPECT_EQ(OldestCuda({{"a", "", 13000}, {"a", "", 11080}, {"b", "", 13000}}), 13000);
}

TEST(OldestCudaTest, AllOfCuda12IsPromisedByThisProgram) {
  EXPECT_EQ(OldestCuda(KernelImages()), 12000);
}

TEST(CudaVersionTest, IsWrittenAsPeopleDo) {
  EXPECT_EQ(CudaVersionText(13000), "13.0");
  EXPECT_EQ(CudaVersionText(12040), "12.4");
  EXPECT_EQ(CudaVersionText(11080), "11.8");
}

TEST(DriverVersionTest, TextThatDoesNotEndIsCut) {
  FakeHost host(1);
  CudaSystem system = host.System();
  system.nvml->driver_version = [](char* text, unsigned size) {
    for (unsigned i = 0; i < size; ++i) text[i] = '9';
    return nvml::kSuccess;
  };
  EXPECT_EQ(DriverVersion(system).size(), 95u);
}

TEST(KernelDriverVersionTest, IsFoundInBothFormsOfTheFile) {
  EXPECT_EQ(KernelDriverVersion("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat "
                                "Aug 19 01:15:15 UTC 2023\nGCC version:  gcc version 12.2.0\n"),
            "535.104.05");
  EXPECT_EQ(KernelDriverVersion("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06"
                                "  Release Build  (root@host)\n"),
            "580.65.06");
  EXPECT_EQ(KernelDriverVersion(""), "");
  EXPECT_EQ(KernelDriverVersion("GCC version: 12.2.0\n"), "");
}

TEST(CudaEnvironmentTest, IsReadFromVariablesAndFiles) {
  std::string root = ::testing::TempDir() + "/cuda.XXXXXX";
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  for (const char* name :
       {"CUDA_VISIBLE_DEVICES", "CUDA_MPS_PIPE_DIRECTORY", "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"}) {
    unsetenv(name);
  }
  CudaEnvironment environment = ReadCudaEnvironment(root);
  EXPECT_FALSE(environment.visible_devices.has_value());
  EXPECT_EQ(environment.mps_sign, "");
  EXPECT_EQ(environment.kernel_driver_version, "");

  std::filesystem::create_directories(root + "/tmp/nvidia-mps");
  std::filesystem::create_directories(root + "/proc/driver/nvidia");
  std::ofstream(root + "/tmp/nvidia-mps/control") << "";
  std::ofstream(root + "/proc/driver/nvidia/version") << "NVRM version: NVIDIA 550.54.15 x\n";
  setenv("CUDA_VISIBLE_DEVICES", "", /*overwrite=*/1);
  environment = ReadCudaEnvironment(root);
  EXPECT_EQ(environment.visible_devices, "");
  EXPECT_THAT(environment.mps_sign, HasSubstr("control is there"));
  EXPECT_EQ(environment.kernel_driver_version, "550.54.15");
  setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50", /*overwrite=*/1);
  EXPECT_EQ(ReadCudaEnvironment("").mps_sign, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE is set");
  unsetenv("CUDA_VISIBLE_DEVICES");
  unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace sextant
