// Programs that the server runs, and what a probe among them says.
#include "server/probe/probe_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/probe/child_process.h"
#include "server/probe/probe_events.h"
#include "tests/server/descriptor_limit.h"
#include "tests/server/fake_probe.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

std::vector<std::string> WholeLines(LineBuffer& buffer) {
  std::vector<std::string> out;
  while (const auto line = buffer.Next()) out.push_back(*line);
  return out;
}

TEST(LineBuffer, IsTheSameHoweverTheBytesArrive) {
  const std::string bytes("one\r\n\ntwo\0three\n\r\nfo\rur\nrest", 28);
  const std::vector<std::string> lines = {"one", "", std::string("two\0three", 9), "", "fo\rur"};
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    LineBuffer buffer;
    std::vector<std::string> found;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      buffer.Add(bytes.substr(at, piece));
      for (std::string& line : WholeLines(buffer)) found.push_back(line);
    }
    EXPECT_EQ(found, lines) << "in pieces of " << piece;
    EXPECT_EQ(buffer.rest(), "rest");
  }
}

constexpr double kLongSeconds = 1e6;

struct Limits {
  double deadline_seconds = kLongSeconds;
  double silence_seconds = kLongSeconds;
};

absl::Status RunScript(
    const std::string& commands, const Limits& limits = {},
    const ProbeEventCallback& on_event = [](const v1::ProbeEvent&) { return absl::OkStatus(); }) {
  const TemporaryFolder folder;
  const Cancellation never;
  return RunProbe({.program = WriteScript(folder, "probe", commands),
                   .arguments = {"--format=json"},
                   .deadline_seconds = limits.deadline_seconds,
                   .silence_seconds = limits.silence_seconds},
                  never, on_event);
}

TEST(RunProbe, ReportsEachEventInOrder) {
  std::vector<std::string> events;
  const absl::Status status =
      RunScript(absl::StrCat(WriteProgress("matmul", 0.25), WriteProgress("copy", 0.75),
                             WriteCalibration(FakeCalibration())),
                {}, [&](const v1::ProbeEvent& event) {
                  events.push_back(event.has_progress() ? event.progress().phase()
                                                        : event.calibration().device().uuid());
                  return absl::OkStatus();
                });
  EXPECT_THAT(status, IsOk());
  EXPECT_THAT(events, ElementsAre("matmul", "copy", "CPU-0123456789abcdef"));
}

TEST(RunProbe, TakesLinesHoweverTheyArrive) {
  EXPECT_THAT(RunScript("printf '{\"device\":'; printf '{\"uuid\"'; printf ':\"CPU-1\"}}\\r\\n'"),
              IsOk());
  // Fields of a newer probe.
  EXPECT_THAT(RunScript("echo '{\"device\":{\"uuid\":\"CPU-1\",\"colour\":7},\"mood\":[{}]}'"),
              IsOk());
}

struct FaultCase {
  const char* name;
  std::string commands;
  const char* fault;
  const char* message;
};

constexpr char kDeviceLine[] = "echo '{\"device\":{\"uuid\":\"CPU-1\"}}'\n";

TEST(RunProbe, FaultsAreErrorsOfTheirOwn) {
  const FaultCase cases[] = {
      {"Crashed", "kill -SEGV $$", "crashed", "signal 11 (Segmentation fault)"},
      {"Killed", "kill -KILL $$", "crashed", "ran out of memory"},
      {"CrashedAfterAResult", absl::StrCat(kDeviceLine, "kill -ABRT $$"), "crashed", "signal 6"},
      {"CrashedInALine", "printf '{\"dev'; kill -SEGV $$", "crashed", "signal 11"},
      {"Exited", "exit 2", "exited", "exit code 2"},
      {"ExitedWithWords", "echo 'no \"memory\"' >&2; exit 1", "exited",
       "its last words: no \"memory\""},
      {"ExitedAfterAResult", absl::StrCat(kDeviceLine, "exit 1"), "exited", "exit code 1"},
      {"Text", "echo hello", "garbage", "not an event: \"hello\""},
      {"EmptyLine", "echo", "garbage", "not an event: \"\""},
      {"OtherJson", "echo '[1, 2]'", "garbage", "[1, 2]"},
      {"NoEvent", "echo '{}'", "garbage", "{}"},
      {"WrongType", "echo '{\"device\":{\"uuid\":[]}}'", "garbage", "not an event"},
      {"NulBytes", "printf '{\"device\":{}}\\000\\n'", "garbage", "\\x00"},
      {"NotUtf8", "printf '{\"device\":{\"uuid\":\"\\377\"}}\\n'", "garbage", "\\xff"},
      {"EndlessLine", "exec tr '\\0' x </dev/zero", "garbage", "a line of more than 4194304 bytes"},
      {"TooMuch",
       "x=$(printf '%01000000d' 0); while :; do\n"
       "echo \"{\\\"progress\\\":{\\\"phase\\\":\\\"$x\\\"}}\"; done",
       "garbage", "more than 67108864 bytes"},
      {"LongGarbage", "printf '%0200d\\n' 0", "garbage", "000\"..."},
      {"NoResult", "exit 0", "silent", "no result"},
      {"NoResultButProgress", WriteProgress("matmul", 1), "silent", "no result"},
      {"PartialLine", absl::StrCat(kDeviceLine, "printf '{\"device\"'"), "partial_line",
       "middle of a line: \"{\\\"device\\\"\""},
      {"PartialAfterAll", "printf '{\"device\":{\"uuid\":\"CPU-1\"}}'", "partial_line",
       "middle of a line"},
      {"Mismatch", WriteFailure("MISMATCH", "matmul bf16") + "exit 5", "mismatch",
       "WRONG, do not trust this device: matmul bf16"},
      {"OwnFault", WriteFailure("INTERNAL", "no space") + "exit 1", "exited",
       "the probe failed: no space"},
      {"Usage", WriteFailure("USAGE", "what is --mode=x?") + "exit 2", "exited",
       "what is --mode=x?"}};
  for (const FaultCase& c : cases) {
    SCOPED_TRACE(c.name);
    const absl::Status status = RunScript(c.commands);
    EXPECT_THAT(status, Fails(absl::StatusCode::kUnavailable, "PROBE_FAILED"));
    EXPECT_THAT(MetadataOf(status), ElementsAre(Pair("fault", c.fault)));
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
  }
}

TEST(RunProbe, NamesTheProgramThatIsNotThere) {
  const Cancellation never;
  const absl::Status status =
      RunProbe({.program = "/nowhere/sextant-probe", .deadline_seconds = 9, .silence_seconds = 9},
               never, [](const v1::ProbeEvent&) { return absl::OkStatus(); });
  EXPECT_THAT(status, Fails(absl::StatusCode::kUnavailable, "PROBE_FAILED"));
  EXPECT_THAT(MetadataOf(status), ElementsAre(Pair("fault", "absent")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nowhere/sextant-probe"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("--probe_program"));
}

TEST(RunProbe, TellsAProbeThatCannotStartFromOneThatIsNotThere) {
  const TemporaryFolder folder;
  const std::string program = WriteScript(folder, "probe", "exit 0");
  const Cancellation never;
  absl::Status status;
  {
    const DescriptorLimit none(FirstFreeDescriptor());
    status = RunProbe({.program = program, .deadline_seconds = 9, .silence_seconds = 9}, never,
                      [](const v1::ProbeEvent&) { return absl::OkStatus(); });
  }
  EXPECT_THAT(status, Fails(absl::StatusCode::kUnavailable, "PROBE_FAILED"));
  EXPECT_THAT(MetadataOf(status), ElementsAre(Pair("fault", "unstartable")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("Too many open files: "));
}

TEST(RunProbe, CarriesARefusal) {
  const absl::Status status =
      RunScript(WriteFailure("REFUSED", "another probe runs", "locked") + "exit 4");
  EXPECT_THAT(status, Fails(absl::StatusCode::kFailedPrecondition, "PROBE_REFUSED"));
  EXPECT_THAT(MetadataOf(status), ElementsAre(Pair("reason", "locked")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("another probe runs"));
  EXPECT_THAT(MetadataOf(RunScript(WriteFailure("UNSUPPORTED", "no bf16 here") + "exit 3")),
              ElementsAre(Pair("reason", "unsupported")));
}

TEST(RunProbe, TellsTheProbesOwnDeadline) {
  EXPECT_THAT(RunScript(WriteFailure("DEADLINE", "nothing measured") + "exit 6"),
              Fails(absl::StatusCode::kUnavailable, "PROBE_TIMEOUT"));
}

TEST(RunProbe, KillsAtTheDeadline) {
  // No hang, endless output or grandchild outlasts it.
  for (const std::string& commands :
       {std::string("sleep 1000"), absl::StrCat("while :; do\n", WriteProgress("x", 0), "done"),
        std::string("exec >&-; sleep 1000"), std::string("echo late >&2; sleep 1000 & wait")}) {
    const absl::Status status = RunScript(commands, {.deadline_seconds = 0.2});
    EXPECT_THAT(status, Fails(absl::StatusCode::kUnavailable, "PROBE_TIMEOUT")) << commands;
    EXPECT_THAT(std::string(status.message()), HasSubstr("0.2 s"));
  }
}

TEST(RunProbe, KillsAProbeThatSaysNothing) {
  const absl::Status status =
      RunScript("echo hm >&2; printf '{'; sleep 1000", {.silence_seconds = 0.2});
  EXPECT_THAT(MetadataOf(status), ElementsAre(Pair("fault", "silent")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("said nothing for 0.2 s"));
}

// A grandchild holds the output open; that must not block the server.
TEST(RunProbe, DoesNotWaitForGrandchildren) {
  EXPECT_THAT(RunScript(absl::StrCat("sleep 1000 &\n", kDeviceLine)), IsOk());
}

TEST(RunProbe, ReadsAllThatWasWrittenBeforeTheEnd) {
  int count = 0;
  EXPECT_THAT(RunScript(absl::StrCat("i=0; while [ $i -lt 2000 ]; do i=$((i+1))\n",
                                     WriteProgress("matmul", 0.5), "done\n", kDeviceLine),
                        {},
                        [&](const v1::ProbeEvent&) {
                          ++count;
                          return absl::OkStatus();
                        }),
              IsOk());
  EXPECT_EQ(count, 2001);
}

TEST(RunProbe, StopsAtAnEventThatMakesNoSense) {
  const absl::Status status =
      RunScript(absl::StrCat(kDeviceLine, "sleep 1000"), {},
                [](const v1::ProbeEvent&) { return absl::InvalidArgumentError("no uuid"); });
  EXPECT_THAT(MetadataOf(status), ElementsAre(Pair("fault", "garbage")));
  EXPECT_THAT(std::string(status.message()), HasSubstr("(no uuid)"));
}

TEST(RunProbe, StopsWhenCancelled) {
  const TemporaryFolder folder;
  Cancellation cancellation;
  std::thread canceller;
  // Cancelled from another thread, once the probe is known to run.
  const absl::Status status =
      RunProbe({.program = WriteScript(folder, "probe", WriteProgress("x", 0) + "sleep 1000"),
                .deadline_seconds = kLongSeconds,
                .silence_seconds = kLongSeconds},
               cancellation, [&](const v1::ProbeEvent&) {
                 canceller = std::thread([&] { cancellation.Cancel(); });
                 return absl::OkStatus();
               });
  canceller.join();
  EXPECT_THAT(status, Fails(absl::StatusCode::kCancelled, "PROBE_CANCELLED"));
  // It does not start once cancelled.
  EXPECT_THAT(RunProbe({.program = "/nowhere"}, cancellation,
                       [](const v1::ProbeEvent&) { return absl::OkStatus(); }),
              Fails(absl::StatusCode::kCancelled, "PROBE_CANCELLED"));
}

// Any last words are cut and converted to text.
TEST(RunProbe, KeepsTheEndOfLongLastWords) {
  const absl::Status status = RunScript(
      "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); printf '\\303\\244\\377 %d' $i; done >&2"
      "; exit 1");
  const std::string message(status.message());
  EXPECT_THAT(message, HasSubstr("\xc3\xa4\xef\xbf\xbd 3000"));
  EXPECT_LT(message.size(), 960u);
}

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
