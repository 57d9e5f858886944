#include "gpu_probe/cuda/cuda_system.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/gpu_probe/cuda/fake_host.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/support/csv.h"
#include "tests/support/source_folder.h"
#include "tests/support/temporary_folder.h"

namespace sextant::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// The status of starting CUDA on a host with two GPUs after `change`.
absl::Status StartedAfter(const std::function<void(FakeHost&, CudaSystem&)>& change) {
  FakeHost host(2);
  CudaSystem system = host.System();
  change(host, system);
  if (system.nvml.ok()) system.nvml = StartNvml(host.NvmlTable());
  return StartCuda(system);
}

void RemoveNvml(CudaSystem& system) { system.nvml = absl::NotFoundError("libnvidia-ml.so.1: no"); }

// Makes the host a row of absences.csv.
void Prepare(const CsvRow& row, FakeHost& host, CudaSystem& system) {
  const auto number = [&row](const char* column) { return std::atoi(row.at(column).c_str()); };
  host.cuda_init_code = number("cuda_init");
  host.nvml_init_code = number("nvml_init");
  host.cuda_version = number("cuda_version");
  host.driver_version = row.at("driver_version");
  system.oldest_cuda = number("oldest_cuda");
  system.environment.kernel_driver_version = row.at("kernel_driver");
  const std::string& visible = row.at("visible_devices");
  if (visible != "unset") system.environment.visible_devices = visible;
  const std::string& driver = row.at("driver");
  if (driver == "stub") system.driver->driver_version = [](int*) { return 34; };
  if (driver == "no") system.driver = absl::NotFoundError("libcuda.so.1: no");
  if (row.at("nvml") == "no") RemoveNvml(system);
}

TEST(StartCudaTest, SaysWhyThereIsNothingAndWhatToDo) {
  const auto rows = ReadCsv(SourceFolder() + "/tests/gpu_probe/cuda/absences.csv").value();
  for (const CsvRow& row : rows) {
    const absl::Status status =
        StartedAfter([&row](FakeHost& host, CudaSystem& system) { Prepare(row, host, system); });
    for (const absl::string_view part : absl::StrSplit(row.at("says"), '|')) {
      EXPECT_THAT(status, IsFailure(v1::ProbeFailure::KIND_UNSUPPORTED, row.at("reason"),
                                    std::string(part)));
    }
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

// A folder below which a host's files are, and no variable of NVIDIA's libraries.
class CudaEnvironmentTest : public ::testing::Test {
 protected:
  CudaEnvironmentTest() {
    std::filesystem::create_directories(root_ + "/tmp/nvidia-mps");
    Clear();
  }
  ~CudaEnvironmentTest() override { Clear(); }

  static void Clear() {
    for (const char* name : {"CUDA_VISIBLE_DEVICES", "CUDA_MPS_PIPE_DIRECTORY"}) unsetenv(name);
    (void)TakeCudaEnvironment("");
    unsetenv("CUDA_MODULE_LOADING");
  }
  std::string MpsSign() const { return TakeCudaEnvironment(root_).mps_sign; }

  // A socket bound at the daemon's place, which takes connections where it `listens`.
  int Bind(int type, bool listens) const {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    control_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const int descriptor = socket(AF_UNIX, type, 0);
    EXPECT_EQ(bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    if (listens) {
      EXPECT_EQ(listen(descriptor, 1), 0);
    }
    return descriptor;
  }

  const TemporaryFolder folder_;
  const std::string root_ = folder_.path();
  std::string control_;
};

TEST_F(CudaEnvironmentTest, IsReadFromVariablesAndFiles) {
  CudaEnvironment environment = TakeCudaEnvironment(root_);
  EXPECT_FALSE(environment.visible_devices.has_value());
  EXPECT_EQ(environment.mps_sign, "");
  EXPECT_EQ(environment.kernel_driver_version, "");
  EXPECT_TRUE(environment.cleared_variables.empty());
  EXPECT_STREQ(getenv("CUDA_MODULE_LOADING"), "LAZY");

  std::filesystem::create_directories(root_ + "/proc/driver/nvidia");
  std::ofstream(root_ + "/proc/driver/nvidia/version") << "NVRM version: NVIDIA 550.54.15 x\n";
  setenv("CUDA_VISIBLE_DEVICES", "", /*overwrite=*/1);
  environment = TakeCudaEnvironment(root_);
  EXPECT_EQ(environment.visible_devices, "");
  EXPECT_EQ(environment.kernel_driver_version, "550.54.15");
  EXPECT_STREQ(getenv("CUDA_VISIBLE_DEVICES"), "") << "it is obeyed, and not cleared";
  ShowOnlyGpu("GPU-1");
  EXPECT_STREQ(getenv("CUDA_VISIBLE_DEVICES"), "GPU-1");
}

TEST_F(CudaEnvironmentTest, VariablesThatChangeFiguresAreClearedAndTold) {
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
  setenv("NCCL_ALGO", "Ring\n\xff", 1);
  setenv("CUBLASLT_LOG_FILE", std::string(1000, 'x').c_str(), 1);
  setenv("CUDNN_ABC", "", 1);
  setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "50", 1);
  setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID", 1);  // what numbers in CUDA_VISIBLE_DEVICES mean
  setenv("NCCLX", "1", 1);
  const CudaEnvironment environment = TakeCudaEnvironment(root_);
  EXPECT_THAT(
      environment.cleared_variables,
      ElementsAre("CUBLASLT_LOG_FILE=" + std::string(102, 'x'), "CUDA_LAUNCH_BLOCKING=1",
                  "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50", "CUDNN_ABC=", "NCCL_ALGO=Ring??"));
  for (const char* name : {"CUDA_LAUNCH_BLOCKING", "NCCL_ALGO", "CUBLASLT_LOG_FILE", "CUDNN_ABC",
                           "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE"}) {
    EXPECT_EQ(getenv(name), nullptr) << name;
  }
  EXPECT_STREQ(getenv("CUDA_DEVICE_ORDER"), "PCI_BUS_ID");
  EXPECT_STREQ(getenv("NCCLX"), "1");
  unsetenv("CUDA_DEVICE_ORDER");
  unsetenv("NCCLX");
  EXPECT_EQ(environment.mps_sign, "");
}

TEST_F(CudaEnvironmentTest, NoMoreVariablesAreToldThanTheServerTakes) {
  for (int i = 0; i < 100; ++i) setenv(absl::StrCat("NCCL_", i).c_str(), "1", 1);
  EXPECT_EQ(TakeCudaEnvironment(root_).cleared_variables.size(), kMaxVariables);
  EXPECT_EQ(getenv("NCCL_99"), nullptr);
}

TEST_F(CudaEnvironmentTest, ADaemonOfMpsIsASignWhileItListens) {
  control_ = root_ + "/tmp/nvidia-mps/control";
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    const int daemon = Bind(type, /*listens=*/true);
    EXPECT_EQ(MpsSign(), "a daemon listens on /tmp/nvidia-mps/control");
    close(daemon);
    EXPECT_TRUE(std::filesystem::exists(control_));
    EXPECT_EQ(MpsSign(), "") << "it has ended, and left its socket";
    std::filesystem::remove(control_);
  }
  ASSERT_EQ(mkfifo(control_.c_str(), 0600), 0);
  EXPECT_EQ(MpsSign(), "");
  const int reader = open(control_.c_str(), O_RDONLY | O_NONBLOCK);
  EXPECT_THAT(MpsSign(), HasSubstr("listens"));
  close(reader);
  std::filesystem::remove(control_);
  std::ofstream(control_) << "a file";
  EXPECT_EQ(MpsSign(), "");
}

TEST_F(CudaEnvironmentTest, MpsIsLookedForWhereItsVariableSays) {
  control_ = root_ + "/elsewhere/control";
  std::filesystem::create_directories(root_ + "/elsewhere");
  const int daemon = Bind(SOCK_SEQPACKET, /*listens=*/true);
  EXPECT_EQ(MpsSign(), "");
  setenv("CUDA_MPS_PIPE_DIRECTORY", "/elsewhere", 1);
  EXPECT_EQ(MpsSign(), "a daemon listens on /elsewhere/control");
  close(daemon);
  EXPECT_EQ(MpsSign(), "");
}

}  // namespace
}  // namespace sextant::probe
