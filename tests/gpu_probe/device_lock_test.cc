#include "gpu_probe/device_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/support/temporary_folder.h"

namespace sextant::probe {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

class DeviceLockTest : public ::testing::Test {
 protected:
  std::string FileOf(const std::string& uuid) const {
    return absl::StrCat(folder_, "/sextant-probe-", uuid, ".lock");
  }

  const TemporaryFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(DeviceLockTest, OneAtATimeAndThenTheNext) {
  {
    const auto held = DeviceLock::Take(folder_, "CPU-1").value();
    EXPECT_EQ(held.note(), "");
    EXPECT_THAT(DeviceLock::Take(folder_, "CPU-1"),
                FailsSaying(absl::StatusCode::kAborted, "CPU-1"));
    EXPECT_THAT(DeviceLock::Take(folder_, "CPU-2"), IsOk()) << "another device";
  }
  EXPECT_EQ(DeviceLock::Take(folder_, "CPU-1").value().note(), "");
}

TEST_F(DeviceLockTest, MovingKeepsIt) {
  auto held = DeviceLock::Take(folder_, "CPU-1");
  ASSERT_THAT(held, IsOk());
  const DeviceLock moved = *std::move(held);
  EXPECT_FALSE(DeviceLock::Take(folder_, "CPU-1").ok());
}

TEST_F(DeviceLockTest, ALinkIsNotFollowed) {
  const std::string target = absl::StrCat(folder_, "/target");
  ASSERT_EQ(symlink(target.c_str(), FileOf("CPU-1").c_str()), 0);
  const auto lock = DeviceLock::Take(folder_, "CPU-1").value();
  EXPECT_THAT(lock.note(), HasSubstr("Measured without a lock"));
  EXPECT_FALSE(std::filesystem::exists(target));
}

TEST_F(DeviceLockTest, APipeDoesNotBlock) {
  ASSERT_EQ(mkfifo(FileOf("CPU-1").c_str(), 0600), 0);
  EXPECT_THAT(DeviceLock::Take(folder_, "CPU-1").value().note(), HasSubstr("not a regular file"));
}

TEST_F(DeviceLockTest, WithoutAFolderItGoesOnWithANote) {
  const auto lock = DeviceLock::Take(absl::StrCat(folder_, "/nowhere"), "CPU-1").value();
  EXPECT_THAT(lock.note(), HasSubstr("No such file"));
}

TEST_F(DeviceLockTest, AUuidDoesNotLeaveTheFolder) {
  const std::string inner = absl::StrCat(folder_, "/inner");
  ASSERT_TRUE(std::filesystem::create_directory(inner));
  ASSERT_THAT(DeviceLock::Take(inner, "../../x"), IsOk());
  EXPECT_TRUE(std::filesystem::exists(absl::StrCat(inner, "/sextant-probe-______x.lock")));
}

// Who can open the file can hold its lock, and keep the device from being measured.
TEST_F(DeviceLockTest, NoOtherUserMayOpenTheFile) {
  const auto mode = [this] {
    struct stat found = {};
    EXPECT_EQ(stat(FileOf("CPU-1").c_str(), &found), 0);
    return found.st_mode & 0777;
  };
  const mode_t before = umask(0);
  EXPECT_EQ(DeviceLock::Take(folder_, "CPU-1").value().note(), "");
  EXPECT_EQ(mode(), 0600u);
  ASSERT_EQ(chmod(FileOf("CPU-1").c_str(), 0666), 0);  // as former versions left it
  EXPECT_EQ(DeviceLock::Take(folder_, "CPU-1").value().note(), "");
  umask(before);
  EXPECT_EQ(mode(), 0600u);
}

TEST_F(DeviceLockTest, AnotherUsersFileIsNoLock) {
  if (geteuid() != 0) GTEST_SKIP() << "only root makes files of others";
  constexpr uid_t kNobody = 65534;
  std::ofstream(FileOf("CPU-1")).close();
  ASSERT_EQ(chown(FileOf("CPU-1").c_str(), kNobody, kNobody), 0);
  EXPECT_THAT(DeviceLock::Take(folder_, "CPU-1").value().note(), HasSubstr("another user's file"));
}

TEST_F(DeviceLockTest, AFileThatCannotBeWrittenLocks) {
  std::ofstream(FileOf("CPU-1")).close();
  ASSERT_EQ(chmod(FileOf("CPU-1").c_str(), 0444), 0);
  EXPECT_EQ(DeviceLock::Take(folder_, "CPU-1").value().note(), "");
}

TEST_F(DeviceLockTest, TheFolderIsTheUsersOwnWhateverTheEnvironment) {
  const char* const before = std::getenv("SEXTANT_LOCK_FOLDER");
  const std::string kept = before == nullptr ? "" : before;
  setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);  // a service of this user has none
  unsetenv("SEXTANT_LOCK_FOLDER");
  const std::string own = absl::StrCat("/sextant-probe-", geteuid());
  EXPECT_THAT(LockFolder(), AnyOf("/run/lock" + own, "/tmp" + own));
  struct stat found = {};
  ASSERT_EQ(stat(LockFolder().c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
  setenv("SEXTANT_LOCK_FOLDER", folder_.c_str(), 1);
  EXPECT_EQ(LockFolder(), folder_);
  setenv("SEXTANT_LOCK_FOLDER", "not/absolute", 1);
  EXPECT_THAT(LockFolder(), AnyOf("/run/lock" + own, "/tmp" + own));
  if (before == nullptr) {
    unsetenv("SEXTANT_LOCK_FOLDER");
  } else {
    setenv("SEXTANT_LOCK_FOLDER", kept.c_str(), 1);
  }
}

}  // namespace
}  // namespace sextant::probe
