#include "gpu_probe/host_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/utsname.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/temporary_folder.h"

namespace sextant::probe {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;

class HostEnvironmentTest : public ::testing::Test {
 protected:
  // The system's name read from `text` in the file `path`.
  std::string SystemOf(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
    v1::Calibration calibration;
    AddHostEnvironment(root_, &calibration);
    std::filesystem::remove(root_ + path);
    return calibration.environment().operating_system();
  }

  const TemporaryFolder folder_;
  const std::string root_ = folder_.path();
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
  calibration.add_matmuls()->set_engine("cublaslt 13.1.0");
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

}  // namespace
}  // namespace sextant::probe
