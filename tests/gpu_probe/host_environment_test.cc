#include "gpu_probe/host_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "gpu_probe/calibration_text.h"
#include "gpu_probe/environment_text.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class HostEnvironmentTest : public ::testing::Test {
 protected:
  HostEnvironmentTest() {
    root_ = ::testing::TempDir() + "/root.XXXXXX";
    EXPECT_NE(mkdtemp(root_.data()), nullptr);
  }
  ~HostEnvironmentTest() override { std::filesystem::remove_all(root_); }

  // What `text` in the file `path` makes of the system's name.
  std::string SystemOf(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
    v1::Calibration calibration;
    AddHostEnvironment(root_, &calibration);
    std::filesystem::remove(root_ + path);
    return calibration.environment().operating_system();
  }

  std::string root_;
};

TEST_F(HostEnvironmentTest, TheSystemsNameIsItsOwn) {
  EXPECT_EQ(SystemOf("/etc/os-release", "NAME=x\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n"),
            "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(SystemOf("/usr/lib/os-release", "PRETTY_NAME='NVIDIA DGX OS 6'"), "NVIDIA DGX OS 6");
  EXPECT_EQ(SystemOf("/etc/os-release", "PRETTY_NAME=Arch\n"), "Arch");
  EXPECT_EQ(SystemOf("/etc/os-release", "NAME=\"without one\"\n"), "");
  EXPECT_EQ(SystemOf("/etc/os-release", "PRETTY_NAME=\"\x1b[2J\xff\""), "?[2J?");
  EXPECT_EQ(SystemOf("/etc/os-release", "PRETTY_NAME=" + std::string(1000, 'x')).size(), 256u);
}

TEST_F(HostEnvironmentTest, KernelAndLibrariesAreThoseThatRan) {
  v1::Calibration calibration;
  calibration.add_matmuls()->set_engine("cublaslt 13.1.0");
  calibration.add_matmuls()->set_engine("builtin");
  calibration.add_other_matmuls()->set_engine("cublaslt 13.1.0");
  calibration.add_attentions()->set_engine("cudnn 9.13.0");
  calibration.add_collectives()->set_engine("copy engine");
  calibration.add_collectives()->set_engine("nccl 2.28.3");
  AddHostEnvironment(root_, &calibration);
  const v1::MeasurementEnvironment& environment = calibration.environment();
  EXPECT_THAT(environment.libraries(),
              ElementsAre("cublaslt 13.1.0", "cudnn 9.13.0", "nccl 2.28.3"));
  utsname system = {};
  ASSERT_EQ(uname(&system), 0);
  EXPECT_EQ(environment.kernel_release(), system.release);
  EXPECT_THAT(environment.c_library(), MatchesRegex("glibc 2\\.[0-9]+.*"));
}

TEST(EnvironmentTextTest, ShowsWhatWasTold) {
  v1::Calibration c;
  EXPECT_EQ(EnvironmentText(c), "");
  v1::MeasurementEnvironment* const e = c.mutable_environment();
  e->set_operating_system("Debian GNU/Linux 12 (bookworm)");
  e->set_kernel_release("6.1.0-28-amd64");
  e->set_c_library("glibc 2.36");
  e->add_libraries("cublaslt 13.1.0");
  e->set_pcie_generation(4);
  e->set_pcie_lane_count(16);
  e->set_maximum_pcie_generation(5);
  e->set_maximum_pcie_lane_count(16);
  e->set_nvlink_count(18);
  e->set_active_nvlink_count(17);
  e->set_persistence_mode(false);
  e->set_visible_device_count(1);
  e->add_cleared_variables("NCCL_ALGO=\x1bRing");
  e->mutable_guard_cost()->set_reading_count(12);
  e->mutable_guard_cost()->set_total_seconds(0.03);
  e->mutable_guard_cost()->set_longest_seconds(0.005);
  EXPECT_EQ(EnvironmentText(c), R"(
Environment: the host, its software and the device's settings
  Debian GNU/Linux 12 (bookworm), kernel 6.1.0-28-amd64, glibc 2.36, cublaslt 13.1.0
  PCIe 4.0 x16 (at most 5.0 x16), 17 of 18 NVLinks up, persistence off, devices visible: 1
  guard: 12 readings took 30.0 ms, the longest 5.00 ms
  cleared: NCCL_ALGO=?Ring
)");
  EXPECT_THAT(CalibrationText(c), HasSubstr("17 of 18 NVLinks up"));
}

}  // namespace
}  // namespace sextant
