#include "gpu_probe/output.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "tests/gpu_probe/scripted.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temporary_folder.h"

namespace sextant::probe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

v1::ProbeProgress ProgressOf(double fraction) {
  v1::ProbeProgress progress;
  progress.set_phase("matmul fp32");
  progress.set_fraction(fraction);
  return progress;
}

v1::ProbeEvent CalibrationEvent() {
  v1::ProbeEvent event;
  v1::Calibration* calibration = event.mutable_calibration();
  calibration->set_schema_version(2);
  calibration->mutable_device()->set_product_name("A Processor");
  calibration->set_coverage_ratio(1);
  return event;
}

v1::ProbeFailure FailureOfKind(v1::ProbeFailure::Kind kind) {
  v1::ProbeFailure failure;
  failure.set_kind(kind);
  failure.set_message("what happened");
  return failure;
}

// An output into two files.
class OutputTest : public ::testing::Test {
 protected:
  OutputTest() {
    std::signal(SIGPIPE, SIG_IGN);
    options_.results_descriptor = open(Path("results").c_str(), O_RDWR | O_CREAT, 0600);
    options_.messages_descriptor = open(Path("messages").c_str(), O_RDWR | O_CREAT, 0600);
  }
  ~OutputTest() override {
    close(options_.results_descriptor);
    close(options_.messages_descriptor);
  }

  // Writes to a pipe that nobody reads.
  void CloseReader() {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    close(ends[0]);
    close(options_.results_descriptor);
    options_.results_descriptor = ends[1];
  }

  std::string Path(const std::string& name) const { return folder_.File(name); }
  std::string Read(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(Path(name)).rdbuf();
    return text.str();
  }
  std::vector<v1::ProbeEvent> Events() const {
    std::vector<v1::ProbeEvent> events;
    const std::vector<std::string> lines = absl::StrSplit(Read("results"), '\n');
    for (const std::string& line : lines) {
      if (line.empty()) continue;
      events.emplace_back();
      EXPECT_TRUE(google::protobuf::util::JsonStringToMessage(line, &events.back()).ok()) << line;
    }
    return events;
  }

  const TemporaryFolder folder_;
  OutputOptions options_;
  ScriptedClock clock_;
};

TEST_F(OutputTest, ProgressAtMostTenTimesASecondButTheEndAlways) {
  Output output(options_, clock_);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(output.Progress(ProgressOf(0.005 * i)));
    clock_.Advance(0.01);
  }
  EXPECT_TRUE(output.Progress(ProgressOf(1)));
  const std::vector<v1::ProbeEvent> events = Events();
  EXPECT_GE(events.size(), 9u);
  EXPECT_LE(events.size(), 11u);
  EXPECT_EQ(events.front().progress().fraction(), 0);
  EXPECT_EQ(events.front().progress().phase(), "matmul fp32");
  EXPECT_EQ(events.back().progress().fraction(), 1);
}

TEST_F(OutputTest, ANewPhaseIsShownAtOnce) {
  Output output(options_, clock_);
  for (const char* phase : {"load", "start", "start", "matmul bf16"}) {
    v1::ProbeProgress progress = ProgressOf(0.1);
    progress.set_phase(phase);
    output.Progress(progress);
    clock_.Advance(0.01);
  }
  const std::vector<v1::ProbeEvent> events = Events();
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[1].progress().phase(), "start");
  EXPECT_EQ(events[2].progress().phase(), "matmul bf16");
}

TEST_F(OutputTest, AFractionNeverFalls) {
  Output output(options_, clock_);
  for (const double fraction : {0.5, 0.3, 0.6}) {
    output.Progress(ProgressOf(fraction));
    clock_.Advance(1);
  }
  const std::vector<v1::ProbeEvent> events = Events();
  ASSERT_THAT(events, SizeIs(3));
  EXPECT_EQ(events[1].progress().fraction(), 0.5);
}

TEST_F(OutputTest, FieldsAreSpeltAsInProtoJson) {
  Output output(options_, clock_);
  EXPECT_EQ(output.Finish(CalibrationEvent()), kExitOk);
  EXPECT_THAT(Read("results"), HasSubstr("\"schemaVersion\":2"));
  EXPECT_EQ(Read("results").back(), '\n');
}

TEST_F(OutputTest, OnlyTheFirstResultCounts) {
  Output output(options_, clock_);
  EXPECT_EQ(output.FinishLate(FailureOfKind(v1::ProbeFailure::KIND_DEADLINE)), kExitDeadline);
  EXPECT_EQ(output.Finish(CalibrationEvent()), kExitDeadline);
  EXPECT_EQ(output.FinishLate(FailureOfKind(v1::ProbeFailure::KIND_INTERNAL)), kExitDeadline);
  clock_.Advance(1);
  output.Progress(ProgressOf(1));
  const std::vector<v1::ProbeEvent> events = Events();
  ASSERT_THAT(events, SizeIs(1)) << "nothing follows a result";
  EXPECT_EQ(events[0].failure().kind(), v1::ProbeFailure::KIND_DEADLINE);
  EXPECT_EQ(Read("messages"), "sextant-probe: what happened\n");
}

TEST_F(OutputTest, AHeartbeatRepeatsTheLastProgress) {
  Output output(options_, clock_);
  output.Progress(ProgressOf(0.25));
  clock_.Advance(0.9);
  output.Heartbeat();
  ASSERT_THAT(Events(), SizeIs(1)) << "too early";
  clock_.Advance(0.2);
  output.Heartbeat();
  const std::vector<v1::ProbeEvent> events = Events();
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[1].progress().phase(), "matmul fp32");
  EXPECT_EQ(events[1].progress().fraction(), 0.25);
  EXPECT_NEAR(events[1].progress().elapsed_seconds(), 1.1, 1e-9);
}

TEST_F(OutputTest, AClosedPipeIsToldAndNotWrittenOf) {
  CloseReader();
  options_.file = Path("calibration.json");
  Output output(options_, clock_);
  EXPECT_FALSE(output.Progress(ProgressOf(0)));
  EXPECT_EQ(output.Finish(CalibrationEvent()), kExitInternal);
  EXPECT_EQ(Read("messages"), "");
  EXPECT_THAT(Read("calibration.json"), HasSubstr("A Processor"))
      << "the file is there all the same";
}

// Unlike a reader that left: whoever fills a disk still wants the file, and the reason.
TEST_F(OutputTest, AFullDiskIsToldAtTheEndAndStillLeavesTheFile) {
  OutputOptions options = options_;
  options.results_descriptor = open("/dev/full", O_WRONLY | O_CLOEXEC);
  ASSERT_GE(options.results_descriptor, 0);
  options.file = Path("calibration.json");
  Output output(options, clock_);
  EXPECT_TRUE(output.Progress(ProgressOf(0))) << "the measurement goes on";
  EXPECT_EQ(Read("messages"), "");
  EXPECT_EQ(output.Finish(CalibrationEvent()), kExitInternal);
  EXPECT_THAT(Read("messages"), HasSubstr("cannot write the output: No space left"));
  EXPECT_THAT(Read("calibration.json"), HasSubstr("A Processor"));
  close(options.results_descriptor);
}

TEST_F(OutputTest, AFileThatFailsIsToldEvenWhereNobodyReads) {
  CloseReader();
  options_.file = Path("nowhere/calibration.json");
  EXPECT_EQ(Output(options_, clock_).Finish(CalibrationEvent()), kExitInternal);
  EXPECT_THAT(Read("messages"), HasSubstr("nowhere/calibration.json"));
}

// A full pipe loses progress, and holds up nothing.
TEST_F(OutputTest, ASlowReaderLosesProgress) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  while (write(ends[1], "x", 1) == 1) {
  }
  fcntl(ends[1], F_SETFL, 0);  // from here on a write would wait
  OutputOptions options = options_;
  options.results_descriptor = ends[1];
  Output output(options, clock_);
  EXPECT_TRUE(output.Progress(ProgressOf(0.5)));
  clock_.Advance(2);
  output.Heartbeat();
  close(ends[0]);
  close(ends[1]);
}

TEST_F(OutputTest, TheFileHoldsTheBareCalibration) {
  options_.file = Path("calibration.json");
  Output output(options_, clock_);
  EXPECT_EQ(output.Finish(CalibrationEvent()), kExitOk);
  v1::Calibration read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(Read("calibration.json"), &read).ok());
  EXPECT_TRUE(
      google::protobuf::util::MessageDifferencer::Equals(read, CalibrationEvent().calibration()));
}

TEST_F(OutputTest, AFailureLeavesTheFileAlone) {
  options_.file = Path("calibration.json");
  std::ofstream(options_.file) << "old";
  v1::ProbeEvent event;
  *event.mutable_failure() = FailureOfKind(v1::ProbeFailure::KIND_MISMATCH);
  Output output(options_, clock_);
  EXPECT_EQ(output.Finish(event), kExitMismatch);
  EXPECT_EQ(Read("calibration.json"), "old");
}

TEST_F(OutputTest, AFileThatCannotBeWrittenStillLeavesTheLine) {
  options_.file = Path("nowhere/calibration.json");
  Output output(options_, clock_);
  EXPECT_EQ(output.Finish(CalibrationEvent()), kExitInternal);
  EXPECT_THAT(Events(), SizeIs(1));
  EXPECT_THAT(Read("messages"), HasSubstr("nowhere/calibration.json"));
}

TEST_F(OutputTest, TextHasNoJson) {
  options_.format = OutputFormat::kText;
  Output output(options_, clock_);
  output.Progress(ProgressOf(0.5));
  EXPECT_EQ(output.Finish(CalibrationEvent()), kExitOk);
  EXPECT_THAT(Read("results"), StartsWith("A Processor"));
  EXPECT_THAT(Read("messages"), IsEmpty()) << "no bar where there is no terminal";
}

// The text shows a part of a large grid, and names the flag that prints all of it.
TEST_F(OutputTest, TextNamesTheFlagOfJson) {
  options_.format = OutputFormat::kText;
  v1::ProbeEvent event = CalibrationEvent();
  for (int i = 0; i < 41; ++i) event.mutable_calibration()->add_matmuls()->set_n(1);
  Output output(options_, clock_);
  EXPECT_EQ(output.Finish(event), kExitOk);
  EXPECT_THAT(Read("results"), HasSubstr("41 more shapes; --format=json has them"));
}

TEST_F(OutputTest, NothingInTextSteersATerminal) {
  options_.format = OutputFormat::kText;
  options_.progress_bar = true;
  v1::ProbeEvent event = CalibrationEvent();
  event.mutable_calibration()->mutable_device()->set_product_name("\x1b[2J");
  event.mutable_calibration()->mutable_device()->set_uuid("\x1b[2J");
  event.mutable_calibration()->add_notes("\x1b[31m");
  event.mutable_calibration()->add_matmuls()->set_kernel("\x1b[31m");
  Output output(options_, clock_);
  v1::ProbeProgress progress = ProgressOf(0.5);
  progress.set_figure("\x1b[31m\n");
  output.Progress(progress);
  EXPECT_EQ(output.Finish(event), kExitOk);
  EXPECT_EQ(Output(options_, clock_).List({event.calibration().device()}), kExitOk);
  EXPECT_THAT(Read("results"), AllOf(HasSubstr("?[2J"), Not(HasSubstr("\x1b"))));
  EXPECT_THAT(Read("messages"), HasSubstr("?[31m \r\x1b[K"));
}

TEST_F(OutputTest, AListInTextIsAParagraphADevice) {
  options_.format = OutputFormat::kText;
  std::vector<v1::Device> devices(2);
  devices[0].set_product_name("A Processor");
  devices[0].set_uuid("CPU-1");
  devices[1].set_product_name("A GPU");
  Output output(options_, clock_);
  EXPECT_EQ(output.List(devices), kExitOk);
  EXPECT_EQ(Read("results"), "A Processor\n  uuid  CPU-1\n\nA GPU\n");
}

TEST_F(OutputTest, TheBarIsErasedAtTheEnd) {
  options_.format = OutputFormat::kText;
  options_.progress_bar = true;
  Output output(options_, clock_);
  output.Progress(ProgressOf(0.5));
  output.Finish(CalibrationEvent());
  EXPECT_EQ(Read("messages"), "\r\x1b[K[############............]  50 %  matmul fp32\r\x1b[K");
}

TEST_F(OutputTest, AListIsADeviceALine) {
  std::vector<v1::Device> devices(2);
  devices[0].set_uuid("CPU-1");
  devices[1].set_uuid("GPU-2");
  Output output(options_, clock_);
  EXPECT_EQ(output.List(devices), kExitOk);
  const std::vector<v1::ProbeEvent> events = Events();
  ASSERT_THAT(events, SizeIs(2));
  EXPECT_EQ(events[1].device().uuid(), "GPU-2");
}

}  // namespace
}  // namespace sextant::probe
