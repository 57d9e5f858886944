#include "server/probe/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/server/descriptor_limit.h"
#include "tests/server/fake_probe.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;

// Reads all output on `fd` until the child and all other holders of the pipe have closed it.
std::string ReadAll(int fd) {
  std::string out;
  char buffer[256];
  while (true) {
    pollfd readable = {.fd = fd, .events = POLLIN, .revents = 0};
    poll(&readable, 1, -1);
    const ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count <= 0) return out;
    out.append(buffer, static_cast<size_t>(count));
  }
}

absl::StatusOr<ChildProcess> StartShell(const std::string& commands) {
  return ChildProcess::Start("/bin/sh", {"-c", commands});
}

TEST(ChildProcess, GivesItsOutputAndItsEnd) {
  auto child = StartShell("echo out; echo err >&2; exit 3");
  ASSERT_THAT(child, IsOk());
  EXPECT_EQ(ReadAll(child->stdout_fd()), "out\n");
  EXPECT_EQ(ReadAll(child->stderr_fd()), "err\n");
  const auto end = child->End();
  ASSERT_TRUE(end.has_value());
  EXPECT_FALSE(end->signaled);
  EXPECT_EQ(end->code, 3);
}

TEST(ChildProcess, TellsTheSignalThatEndedIt) {
  auto child = StartShell("kill -SEGV $$");
  ASSERT_THAT(child, IsOk());
  const auto end = child->End();
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->signaled);
  EXPECT_EQ(end->code, SIGSEGV);
}

TEST(ChildProcess, SaysWhyItCannotStart) {
  const TemporaryFolder folder;
  WriteFile(folder.File("text"), "not a program");
  for (const auto& [path, why] :
       {std::pair<std::string, std::string>(folder.File("none"), "No such"),
        {folder.File("text"), "Permission denied"},
        {folder.path(), "Permission denied"},
        {"", "No such"}}) {
    const auto child = ChildProcess::Start(path, {});
    EXPECT_EQ(child.status().code(), absl::StatusCode::kNotFound) << path;
    EXPECT_THAT(std::string(child.status().message()), HasSubstr(path));
    EXPECT_THAT(std::string(child.status().message()), HasSubstr(why));
  }
}

// Each descriptor that a start needs is missing in turn: those of the pipes, and of the end.
TEST(ChildProcess, SaysThatItCannotStartNow) {
  rlim_t count = FirstFreeDescriptor();
  int failure_count = 0;
  while (true) {
    const auto child = [&] {
      const DescriptorLimit limit(count);
      return ChildProcess::Start("/bin/sh", {"-c", "exit 0"});
    }();
    if (child.ok()) break;
    EXPECT_EQ(child.status().code(), absl::StatusCode::kUnavailable);
    EXPECT_THAT(std::string(child.status().message()), HasSubstr("Too many open files"));
    ASSERT_LT(++failure_count, 100);
    ++count;
  }
  EXPECT_GE(failure_count, 5);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "one was born and is left";
}

// The server blocks signals, ignores SIGPIPE, and has descriptors that the child must not inherit.
TEST(ChildProcess, StartsClean) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto disposition = std::signal(SIGPIPE, SIG_IGN);
  const int leak = open("/dev/zero", O_RDONLY);  // not closed on exec
  // ls has the three standard ones and the folder that it lists; cat ends at once. Bits 31 and
  // 32 are signals that glibc keeps to itself.
  auto child = StartShell(
      "set -- $(grep -E '^Sig(Blk|Ign)' /proc/self/status)\n"
      "echo blocked $((0x$2)) ignored $((0x$4 & 0x7fffffff)); ls /proc/self/fd | wc -w; cat");
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  std::signal(SIGPIPE, disposition);
  close(leak);
  ASSERT_THAT(child, IsOk());
  EXPECT_EQ(ReadAll(child->stdout_fd()), "blocked 0 ignored 0\n4\n");
}

TEST(ChildProcess, IsKilledWithItsOwnChildren) {
  auto child = StartShell("sleep 1000 & echo $!; wait");
  ASSERT_THAT(child, IsOk());
  char first;
  pollfd readable = {.fd = child->stdout_fd(), .events = POLLIN, .revents = 0};
  poll(&readable, 1, -1);
  ASSERT_EQ(read(child->stdout_fd(), &first, 1), 1);
  child->Kill();
  ReadAll(child->stdout_fd());  // ends: nobody holds the pipe any more
  const auto end = child->End();
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->signaled);
  EXPECT_EQ(end->code, SIGKILL);
}

// Its number may belong to another process by then; here its own children still have its group.
TEST(ChildProcess, KillsNobodyOnceTheSystemHasReapedIt) {
  const TemporaryFolder folder;
  const Latch end(folder);
  const std::string other_latch = folder.File("other");
  ASSERT_EQ(mkfifo(other_latch.c_str(), 0600), 0);
  const int go = open(other_latch.c_str(), O_RDWR | O_CLOEXEC);  // waits for no reader
  auto child = StartShell(
      absl::StrCat("(read -r go <'", other_latch, "'; echo alive) &\n", end.WaitCommand()));
  ASSERT_THAT(child, IsOk());
  const auto disposition = std::signal(SIGCHLD, SIG_IGN);
  end.Open();
  EXPECT_FALSE(child->End().has_value());
  child->Kill();
  std::signal(SIGCHLD, disposition);
  ASSERT_EQ(write(go, "go\n", 3), 3);
  EXPECT_EQ(ReadAll(child->stdout_fd()), "alive\n");
  close(go);
}

TEST(ChildProcess, IsGoneWithItsObject) {
  int end_fd = -1;
  {
    auto child = StartShell("sleep 1000");
    ASSERT_THAT(child, IsOk());
    end_fd = dup(child->end_fd());
  }
  pollfd ended = {.fd = end_fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&ended, 1, 0), 1);
  close(end_fd);
}

}  // namespace
}  // namespace sextant::server
