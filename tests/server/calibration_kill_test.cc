// A write of a calibration that is killed, or has no room, leaves either the former one or the new
// one, whole.
#include <gmock/gmock.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>

#include "server/probe/child_process.h"
#include "server/store/calibration_file.h"
#include "server/store/calibration_store.h"
#include "tests/server/fake_probe.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

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

// No file takes more than some bytes while this lives, as where the disk is full.
class FullDisk {
 public:
  FullDisk() {
    std::signal(SIGXFSZ, SIG_IGN);  // then a write fails, as on a full disk
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit little = {.rlim_cur = 100, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &little);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_DFL);
  }

 private:
  rlimit before_ = {};
};

TEST(CalibrationStore, LeavesTheFormerOneWhereTheDiskIsFull) {
  const TemporaryFolder folder;
  CalibrationStore store(folder.path());
  EXPECT_EQ(store.Keep(FakeCalibration()).warning, "");
  v1::Calibration next = FakeCalibration();
  next.mutable_measured_time()->set_seconds(next.measured_time().seconds() + 1);
  {
    const FullDisk full;
    EXPECT_THAT(store.Keep(next).warning, HasSubstr("write"));
  }
  // In use until a restart; nothing half-written is left.
  EXPECT_TRUE(
      MessageDifferencer::Equals(store.snapshot()->calibrations[0].by_mode[0]->calibration, next));
  const std::filesystem::directory_iterator files(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
  const CalibrationStore again(folder.path());
  ASSERT_EQ(again.snapshot()->calibrations.size(), 1u);
  EXPECT_TRUE(MessageDifferencer::Equals(again.snapshot()->calibrations[0].by_mode[0]->calibration,
                                         FakeCalibration()));
}

}  // namespace
}  // namespace sextant::server
