// `sextant probe`: what it asks for, and the whole command against scripted streams.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <string>
#include <utility>
#include <vector>

#include "client/io/call_error.h"
#include "client/report/hardware_text.h"
#include "tests/client/fake_server.h"
#include "tests/client/sample_answers.h"

namespace sextant::client {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

v1::RunProbeRequest RequestOf(std::vector<std::string> args) {
  args.insert(args.begin(), {"probe", "--print-request"});
  return FromJson<v1::RunProbeRequest>(RunWith(args).out);
}

TEST(ProbeRequest, HasSizesAndTypes) {
  // A type of its own instead of the default; the server checks ranges.
  ExpectSame(RequestOf({"--matmul=16384x32768x8192", "--matmul=0x1x9223372036854775807:INT8"}),
             FromText<v1::RunProbeRequest>(
                 "matmuls { m: 16384 n: 32768 k: 8192 data_type: DATA_TYPE_BF16 }"
                 "matmuls { m: 0 n: 1 k: 9223372036854775807 data_type: DATA_TYPE_INT8 }"));
  EXPECT_EQ(RequestOf({}).ByteSizeLong(), 0u);
}

TEST(ProbeRequest, SaysWhatToWrite) {
  for (const nlohmann::json& c : CasesOf("shape refused")) {
    const Ran ran = RunWith({"probe", "--print-request", "--matmul=" + TextIn(c, "text")});
    EXPECT_EQ(ran.exit_code, 2) << c;
    EXPECT_THAT(ran.err, HasSubstr(TextIn(c, "says"))) << c;
  }
}

using Writer = grpc::ServerWriter<v1::RunProbeResponse>;

// Sends `events` and then ends the call with `status`.
HardwareHandlers Streams(const std::vector<v1::RunProbeResponse>& events,
                         const grpc::Status& status = grpc::Status::OK) {
  return {.run_probe = [=](grpc::ServerContext*, const v1::RunProbeRequest&, Writer* writer) {
    for (const v1::RunProbeResponse& event : events) writer->Write(event);
    return status;
  }};
}

TEST(Probe, PrintsItsResult) {
  const FakeServer server(Streams({SampleProgress(), SampleProbeResult()}));
  const Ran ran = RunWith({"probe", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(ran.out, ProbeResultText(SampleProbeResult().result()));
  EXPECT_EQ(ran.err, "sextant: measuring; the figures follow\n");
}

TEST(Probe, ShowsItsProgressOnATerminalAndErasesIt) {
  const FakeServer server(Streams({SampleProgress(), SampleProbeResult()}));
  const Ran ran = RunWith({"probe", "--address", server.address()}, "", 40);
  EXPECT_EQ(ran.err, "\r\x1b[K 50 %  matmul bf16  bf16 1024x1024x1024\r\x1b[K");
  EXPECT_THAT(ran.out, StartsWith("Example 8-Core Processor\n"));
}

TEST(Probe, AsksForWhatTheFlagsSay) {
  v1::RunProbeRequest got;
  double seconds_left = 0;
  const FakeServer server(
      HardwareHandlers{.run_probe = [&](grpc::ServerContext* context,
                                        const v1::RunProbeRequest& request, Writer* writer) {
        got = request;
        const auto left = context->deadline() - std::chrono::system_clock::now();
        seconds_left = std::chrono::duration<double>(left).count();
        writer->Write(SampleProbeResult());
        return grpc::Status::OK;
      }});
  EXPECT_EQ(RunWith({"probe", "--mode=full", "--device=host", "--device", "GPU-1",
                     "--matmul=16384x32768x8192", "--matmul=1x2x3:int8", "--dtype=fp32",
                     "--address", server.address()})
                .exit_code,
            0);
  EXPECT_EQ(got.devices_size(), 2);
  // (120 + 300) s for each of two devices; gRPC sends few digits, rounded up.
  EXPECT_GT(seconds_left, 700);
  EXPECT_LE(seconds_left, 900);
  EXPECT_EQ(RunWith({"probe", "--timeout=5000", "--address", server.address()}).exit_code, 0);
  EXPECT_GT(seconds_left, 4000);
}

TEST(Probe, WaitsLongerForMoreWork) {
  double seconds_left = 0;
  const FakeServer server(HardwareHandlers{
      .run_probe = [&](grpc::ServerContext* context, const v1::RunProbeRequest&, Writer* writer) {
        const auto left = context->deadline() - std::chrono::system_clock::now();
        seconds_left = std::chrono::duration<double>(left).count();
        writer->Write(SampleProbeResult());
        return grpc::Status::OK;
      }});
  const std::pair<double, std::vector<std::string>> cases[] = {
      {8 * 60, {}},
      {60, {"--mode=quick", "--device=host"}},
      {120, {"--mode=full", "--device=host"}},
      {360, {"--device=host", "--matmul=1x2x3"}},
      {240, {"--mode=full", "--device=a", "--device=b"}},
  };
  for (auto [seconds, args] : cases) {
    args.insert(args.begin(), {"probe", "--address", server.address()});
    EXPECT_EQ(RunWith(args).exit_code, 0);
    EXPECT_GT(seconds_left, 0.8 * seconds);
    EXPECT_LE(seconds_left, 1.1 * seconds);  // gRPC sends few digits, rounded up
  }
}

TEST(Probe, PrintsEachDeviceAsItComes) {
  const FakeServer server(Streams({SampleProbeResult(), SampleProgress(), SampleProbeResult()}));
  const Ran ran = RunWith({"probe", "--address", server.address()});
  const std::string one = ProbeResultText(SampleProbeResult().result());
  EXPECT_EQ(ran.out, absl::StrCat(one, "\n", one));
}

TEST(Probe, IsOneObjectADeviceForPrograms) {
  const FakeServer server(Streams({SampleProgress(), SampleProbeResult()}));
  const Ran ran = RunWith({"probe", "--output=json", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0);
  EXPECT_EQ(ran.err, "");
  ExpectSame(FromJson<v1::RunProbeResponse::Result>(ran.out), SampleProbeResult().result());
}

struct ErrorCase {
  grpc::StatusCode code;
  const char* reason;
  int exit_code;
};

// service.md's table.
TEST(ProbeError, HasTheExitCodeOfItsReason) {
  const ErrorCase cases[] = {
      {grpc::StatusCode::INVALID_ARGUMENT, "FIELD_INVALID", 3},
      {grpc::StatusCode::NOT_FOUND, "DEVICE_UNKNOWN", 3},
      {grpc::StatusCode::FAILED_PRECONDITION, "RATES_NOT_MEASURED", 3},
      {grpc::StatusCode::FAILED_PRECONDITION, "PROBE_REFUSED", 4},
      {grpc::StatusCode::ABORTED, "PROBE_RUNNING", 4},
      {grpc::StatusCode::UNAVAILABLE, "PROBE_FAILED", 4},
      {grpc::StatusCode::UNAVAILABLE, "PROBE_TIMEOUT", 4},
  };
  for (const ErrorCase& c : cases) {
    const FakeServer server(Streams({SampleProgress()}, Refusal(c.code, c.reason)));
    const Ran ran = RunWith({"probe", "--address", server.address()}, "", 80);
    EXPECT_EQ(ran.exit_code, c.exit_code) << c.reason;
    EXPECT_EQ(ran.out, "") << c.reason;
    // The progress is gone before it; the words are the server's, with no guess of ours.
    EXPECT_THAT(ran.err, HasSubstr(absl::StrCat("\r\x1b[Ksextant: ", CodeName(c.code), " (",
                                                c.reason, "): refused\n")));
  }
}

// The result of one device is not lost with another's.
TEST(ProbeError, KeepsTheResultsBeforeIt) {
  const FakeServer server(
      Streams({SampleProbeResult()}, Refusal(grpc::StatusCode::UNAVAILABLE, "PROBE_FAILED")));
  const Ran ran = RunWith({"probe", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 4);
  EXPECT_EQ(ran.out, ProbeResultText(SampleProbeResult().result()));
  EXPECT_THAT(ran.err, HasSubstr("PROBE_FAILED"));
}

// No stream that ends well without a calibration may read as a success.
TEST(ProbeError, IsAStreamWithoutACalibration) {
  v1::RunProbeResponse empty_result;
  empty_result.mutable_result()->set_in_use(true);
  const std::vector<std::vector<v1::RunProbeResponse>> streams = {
      {}, {SampleProgress()}, {v1::RunProbeResponse()}, {empty_result}};
  for (const auto& events : streams) {
    const FakeServer server(Streams(events));
    const Ran ran = RunWith({"probe", "--output=json", "--address", server.address()});
    EXPECT_EQ(ran.exit_code, 6);
    EXPECT_EQ(ran.out, "");
    EXPECT_EQ(nlohmann::json::parse(ran.err).at("message"), "the answer holds no calibration");
  }
}

TEST(ProbeError, IsAnOlderServer) {
  const FakeServer server{HardwareHandlers{}};
  const Ran ran = RunWith({"probe", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 6);
  EXPECT_THAT(ran.err, HasSubstr("an older sextantd, or of a role"));
}

TEST(ProbeError, SteersNoTerminal) {
  v1::RunProbeResponse progress = SampleProgress();
  progress.mutable_progress()->set_phase("\x1b[31m\nred");
  v1::RunProbeResponse result = SampleProbeResult();
  result.mutable_result()->mutable_calibration()->add_notes("\x1b]0;title\x07");
  const FakeServer server(
      Streams({progress, result}, {grpc::StatusCode::UNAVAILABLE, "broken\x1b[2J"}));
  const Ran ran = RunWith({"probe", "--address", server.address()}, "", 80);
  EXPECT_THAT(ran.out, Not(HasSubstr("\x1b")));
  EXPECT_THAT(ran.err, HasSubstr("?[31m red"));
  EXPECT_THAT(ran.err, HasSubstr("broken?[2J"));
}

// Sends progress and the signal, and then more progress until the client is gone: only a
// cancelled call ends this handler.
HardwareHandlers SignalsAndWaits(int signal_number, bool* cancelled) {
  return {
      .run_probe = [=](grpc::ServerContext* context, const v1::RunProbeRequest&, Writer* writer) {
        writer->Write(SampleProgress());
        kill(getpid(), signal_number);
        while (writer->Write(SampleProgress())) continue;
        *cancelled = context->IsCancelled();
        return grpc::Status::OK;
      }};
}

TEST(ProbeInterrupt, CancelsTheCall) {
  const DefaultSignals signals;
  for (const int signal_number : {SIGINT, SIGTERM}) {
    bool cancelled = false;
    Ran ran;
    {
      const FakeServer server(SignalsAndWaits(signal_number, &cancelled));
      ran = RunWith({"probe", "--address", server.address()}, "", 80);
    }  // the handler has ended
    EXPECT_EQ(ran.exit_code, 128 + signal_number);
    EXPECT_TRUE(cancelled);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, EndsWith("sextant: CANCELLED: interrupted: the server stops the probe and "
                                  "keeps the last calibration\n"));
  }
}

}  // namespace
}  // namespace sextant::client
