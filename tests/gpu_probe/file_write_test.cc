#include "gpu_probe/file_write.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "tests/gpu_probe/failure_matchers.h"
#include "tests/support/temporary_folder.h"

namespace sextant::probe {
namespace {

class FileWriteTest : public ::testing::Test {
 protected:
  FileWriteTest() { std::signal(SIGPIPE, SIG_IGN); }

  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }
  ptrdiff_t FileCount() const {
    return std::distance(std::filesystem::directory_iterator(folder_.path()), {});
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.File("calibration.json");
};

TEST_F(FileWriteTest, MakesAndReplaces) {
  ASSERT_THAT(ReplaceFile(path_, "old"), IsOk());
  EXPECT_EQ(Read(path_), "old");
  const std::string large(300000, 'x');
  ASSERT_THAT(ReplaceFile(path_, large), IsOk());
  EXPECT_EQ(Read(path_), large);
  EXPECT_EQ(FileCount(), 1) << "no temporary file is left";
  struct stat found = {};
  ASSERT_EQ(stat(path_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0644u);
}

TEST_F(FileWriteTest, AFailureLeavesTheOldFileAndNothingElse) {
  ASSERT_TRUE(std::filesystem::create_directory(path_));
  std::ofstream(absl::StrCat(path_, "/kept")).close();
  EXPECT_THAT(ReplaceFile(path_, "new"), FailsSaying(absl::StatusCode::kInternal, path_));
  EXPECT_TRUE(std::filesystem::exists(absl::StrCat(path_, "/kept")));
  EXPECT_EQ(FileCount(), 1);
  EXPECT_FALSE(ReplaceFile(folder_.File("nowhere/file"), "new").ok());
}

TEST_F(FileWriteTest, WhatCannotBeReplacedIsSaidBeforehand) {
  EXPECT_THAT(CheckReplaceable(path_), IsOk());
  std::ofstream(path_).close();
  EXPECT_THAT(CheckReplaceable(path_), IsOk());
  for (const std::string& bad : {std::string(), folder_.path(), folder_.File(""),
                                 std::string("/dev/null"), folder_.File("nowhere/file")}) {
    EXPECT_EQ(CheckReplaceable(bad).code(), absl::StatusCode::kInvalidArgument) << bad;
  }
}

TEST_F(FileWriteTest, ALinkStaysAndItsFileIsReplaced) {
  const std::string elsewhere = folder_.File("elsewhere");
  ASSERT_TRUE(std::filesystem::create_directory(elsewhere));
  const std::string file = absl::StrCat(elsewhere, "/file");
  std::ofstream(file) << "old";
  ASSERT_EQ(symlink("elsewhere/file", path_.c_str()), 0);
  EXPECT_THAT(CheckReplaceable(path_), IsOk());
  ASSERT_THAT(ReplaceFile(path_, "new"), IsOk());
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_FALSE(std::filesystem::is_symlink(file));
  EXPECT_EQ(Read(file), "new");
  EXPECT_EQ(FileCount(), 2) << "no temporary file is left";
}

TEST_F(FileWriteTest, ALinkToNoFileIsRefusedAndStays) {
  const std::string pipe_path = folder_.File("pipe");
  ASSERT_EQ(mkfifo(pipe_path.c_str(), 0600), 0);
  for (const std::string& target : {pipe_path, folder_.path(), folder_.File("nowhere"), path_}) {
    ASSERT_EQ(symlink(target.c_str(), path_.c_str()), 0);
    EXPECT_EQ(CheckReplaceable(path_).code(), absl::StatusCode::kInvalidArgument) << target;
    EXPECT_EQ(ReplaceFile(path_, "new").code(), absl::StatusCode::kInternal) << target;
    EXPECT_TRUE(std::filesystem::is_symlink(path_)) << target;
    ASSERT_EQ(unlink(path_.c_str()), 0);
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe_path));
}

TEST_F(FileWriteTest, AReaderThatLeftIsKnown) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  EXPECT_EQ(WriteAll(ends[1], "text").code(), absl::StatusCode::kCancelled);
  close(ends[1]);
}

// Far more than a pipe holds, through a descriptor that does not wait.
TEST_F(FileWriteTest, PartialWritesAreContinued) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  fcntl(ends[0], F_SETFL, 0);
  const std::string sent(1000000, 'x');
  std::string received;
  std::thread reader([&received, end = ends[0]] {
    char buffer[777];
    for (ssize_t n = 0; (n = read(end, buffer, sizeof(buffer))) > 0;) {
      received.append(buffer, static_cast<size_t>(n));
    }
  });
  EXPECT_THAT(WriteAll(ends[1], sent), IsOk());
  close(ends[1]);
  reader.join();
  close(ends[0]);
  EXPECT_EQ(received, sent);
}

TEST_F(FileWriteTest, ABadDescriptorIsAnError) {
  EXPECT_EQ(WriteAll(-1, "text").code(), absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace sextant::probe
