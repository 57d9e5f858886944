#include "server/probe/probe_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/probe/probe_events.h"
#include "tests/server/descriptor_limit.h"
#include "tests/server/fake_probe.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
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

TEST(LineBuffer, HasNothingAtFirst) {
  LineBuffer buffer;
  EXPECT_THAT(WholeLines(buffer), IsEmpty());
  EXPECT_EQ(buffer.rest(), "");
  buffer.Add("\n");
  EXPECT_THAT(WholeLines(buffer), ElementsAre(""));
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

class ProbeFaultTest : public ::testing::TestWithParam<FaultCase> {};

TEST_P(ProbeFaultTest, IsAnErrorOfItsOwn) {
  const FaultCase& c = GetParam();
  const absl::Status status = RunScript(c.commands);
  EXPECT_THAT(status, Fails(absl::StatusCode::kUnavailable, "PROBE_FAILED"));
  EXPECT_THAT(MetadataOf(status), ElementsAre(Pair("fault", c.fault)));
  EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
}

const std::string& Device() {
  static const std::string& device = *new std::string("echo '{\"device\":{\"uuid\":\"CPU-1\"}}'\n");
  return device;
}

INSTANTIATE_TEST_SUITE_P(
    All, ProbeFaultTest,
    ::testing::Values(
        FaultCase{"Crashed", "kill -SEGV $$", "crashed", "signal 11 (Segmentation fault)"},
        FaultCase{"Killed", "kill -KILL $$", "crashed", "ran out of memory"},
        FaultCase{"CrashedAfterAResult", Device() + "kill -ABRT $$", "crashed", "signal 6"},
        FaultCase{"CrashedInALine", "printf '{\"dev'; kill -SEGV $$", "crashed", "signal 11"},
        FaultCase{"Exited", "exit 2", "exited", "exit code 2"},
        FaultCase{"ExitedWithWords", "echo 'no \"memory\"' >&2; exit 1", "exited",
                  "its last words: no \"memory\""},
        FaultCase{"ExitedAfterAResult", Device() + "exit 1", "exited", "exit code 1"},
        FaultCase{"Text", "echo hello", "garbage", "not an event: \"hello\""},
        FaultCase{"EmptyLine", "echo", "garbage", "not an event: \"\""},
        FaultCase{"OtherJson", "echo '[1, 2]'", "garbage", "[1, 2]"},
        FaultCase{"NoEvent", "echo '{}'", "garbage", "{}"},
        FaultCase{"WrongType", "echo '{\"device\":{\"uuid\":[]}}'", "garbage", "not an event"},
        FaultCase{"NulBytes", "printf '{\"device\":{}}\\000\\n'", "garbage", "\\x00"},
        FaultCase{"NotUtf8", "printf '{\"device\":{\"uuid\":\"\\377\"}}\\n'", "garbage", "\\xff"},
        FaultCase{"EndlessLine", "exec tr '\\0' x </dev/zero", "garbage",
                  "a line of more than 4194304 bytes"},
        FaultCase{"TooMuch",
                  "x=$(printf '%01000000d' 0); while :; do\n"
                  "echo \"{\\\"progress\\\":{\\\"phase\\\":\\\"$x\\\"}}\"; done",
                  "garbage", "more than 67108864 bytes"},
        FaultCase{"LongGarbage", "printf '%0200d\\n' 0", "garbage", "000\"..."},
        FaultCase{"NoResult", "exit 0", "silent", "no result"},
        FaultCase{"NoResultButProgress", WriteProgress("matmul", 1), "silent", "no result"},
        FaultCase{"PartialLine", Device() + "printf '{\"device\"'", "partial_line",
                  "middle of a line: \"{\\\"device\\\"\""},
        FaultCase{"PartialAfterAll", "printf '{\"device\":{\"uuid\":\"CPU-1\"}}'", "partial_line",
                  "middle of a line"},
        FaultCase{"Mismatch", WriteFailure("MISMATCH", "matmul bf16") + "exit 5", "mismatch",
                  "WRONG, do not trust this device: matmul bf16"},
        FaultCase{"OwnFault", WriteFailure("INTERNAL", "no space") + "exit 1", "exited",
                  "the probe failed: no space"},
        FaultCase{"Usage", WriteFailure("USAGE", "what is --mode=x?") + "exit 2", "exited",
                  "what is --mode=x?"}),
    [](const auto& test) { return test.param.name; });

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
  EXPECT_THAT(RunScript(absl::StrCat("sleep 1000 &\n", Device())), IsOk());
}

TEST(RunProbe, ReadsAllThatWasWrittenBeforeTheEnd) {
  int count = 0;
  EXPECT_THAT(RunScript(absl::StrCat("i=0; while [ $i -lt 2000 ]; do i=$((i+1))\n",
                                     WriteProgress("matmul", 0.5), "done\n", Device()),
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
      RunScript(absl::StrCat(Device(), "sleep 1000"), {},
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

}  // namespace
}  // namespace sextant::server
