// kill -9 during the write of a calibration leaves either the former one or the new one, whole.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <filesystem>
#include <random>
#include <string>

#include "server/probe/child_process.h"
#include "server/store/calibration_file.h"
#include "server/store/calibration_store.h"
#include "tests/server/fake_probe.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

constexpr int kKills = 40;

// Waits until the writer has reported `count` kept calibrations.
void AwaitKept(const ChildProcess& writer, int count) {
  for (int i = 0; i < count; ++i) {
    char said;
    pollfd readable = {.fd = writer.stdout_fd(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&readable, 1, -1), 1);
    ASSERT_EQ(read(writer.stdout_fd(), &said, 1), 1);
  }
}

TEST(CalibrationStore, SurvivesKillsOfItsWriter) {
  const TemporaryFolder folder;
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "calibration_writer";
  std::mt19937 random(20261121);
  std::uniform_int_distribution<int> counts(1, 20);
  for (int i = 0; i < kKills; ++i) {
    auto writer = ChildProcess::Start(program, {folder.path()});
    ASSERT_THAT(writer, IsOk());
    AwaitKept(*writer, counts(random));
    writer->Kill();
    ASSERT_TRUE(writer->End().has_value());

    ::testing::internal::CaptureStderr();
    const CalibrationStore store(folder.path());
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "") << "kill " << i;
    ASSERT_EQ(store.snapshot()->calibrations.size(), 1u) << "kill " << i;
  }
}

}  // namespace
}  // namespace sextant::server
