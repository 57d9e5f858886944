// Probing over gRPC; scripts take the place of sextant-probe.
#include "server/handler/hardware_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "tests/server/fake_probe.h"
#include "tests/server/test_server.h"
#include "tests/server/wire_values.h"

namespace sextant::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string MetricsOf(const Server& server) {
  httplib::Client http("http://" + server.http_address());
  return http.Get("/metrics")->body;
}

// A server whose probe lists FakeDevice() and, asked to measure, runs `commands`.
class ProbingServer {
 public:
  explicit ProbingServer(const std::string& commands)
      : program_(WriteScript(folder_, "probe", ListsAnd(commands))), server_(Options()) {}

  TestServer& server() { return server_; }
  v1::HardwareService::Stub& hardware() { return server_.hardware(); }

  grpc::Status List(v1::ListDevicesResponse* response) {
    grpc::ClientContext context;
    return hardware().ListDevices(&context, {}, response);
  }

  grpc::Status Get(v1::GetCalibrationResponse* response) {
    grpc::ClientContext context;
    return hardware().GetCalibration(&context, {}, response);
  }

  grpc::Status Probe(std::vector<v1::RunProbeResponse>* responses = nullptr) {
    grpc::ClientContext context;
    const auto reader = hardware().RunProbe(&context, {});
    v1::RunProbeResponse response;
    while (reader->Read(&response)) {
      if (responses != nullptr) responses->push_back(response);
    }
    return reader->Finish();
  }

  // Probes, with `timeout` as the call's deadline.
  grpc::Status ProbeFor(std::chrono::milliseconds timeout) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + timeout);
    const auto reader = hardware().RunProbe(&context, {});
    v1::RunProbeResponse response;
    while (reader->Read(&response)) continue;
    return reader->Finish();
  }

  // Probes until no other probe runs: a client sees its cancellation at once, the server a little
  // later.
  grpc::Status ProbeOnceFree() {
    grpc::Status status = Probe();
    for (int i = 0; i < 100'000 && status.error_code() == grpc::StatusCode::ABORTED; ++i) {
      std::this_thread::yield();
      status = Probe();
    }
    return status;
  }

  // Writes the mark that HangsOnce() looks for.
  void LetTheNextEnd() const { WriteFile(folder_.File("mark"), ""); }

  bool Plans() {
    v1::PlanRunResponse response;
    return server_.PlanRun(TestServer::GoodRequest(), &response).ok();
  }

  std::string Metrics() const { return MetricsOf(server_.server()); }

  bool HasCountedAProbeCall(const char* code) const {
    return absl::StrContains(Metrics(), absl::StrCat("sextant_calls_total{code=\"", code,
                                                     "\",method=\"sextant.v1.HardwareService/"
                                                     "RunProbe\",protocol=\"grpc\"} "));
  }

  // Waits for the first probe to be counted, and returns its outcome.
  std::string FirstOutcome() const {
    while (true) {
      const std::string metrics = Metrics();
      for (const char* outcome : {"ok", "partial", "refused", "failed", "timeout", "cancelled"}) {
        if (absl::StrContains(metrics, absl::StrCat("sextant_gpu_probe_runs_total{outcome=\"",
                                                    outcome, "\"} 1\n"))) {
          return outcome;
        }
      }
      std::this_thread::yield();
    }
  }

 private:
  ServerOptions Options() const {
    ServerOptions options = TestServer::Options();
    options.probe_program = program_;
    options.calibration_directory = folder_.File("calibrations");
    return options;
  }

  TemporaryFolder folder_;
  const std::string program_;
  TestServer server_;
};

TEST(RunProbeCall, StreamsProgressAndAResultThatPlansUse) {
  ProbingServer server(WriteProgress("matmul", 0.5) + WriteCalibration(FakeCalibration()));
  std::vector<v1::RunProbeResponse> responses;
  ASSERT_TRUE(server.Probe(&responses).ok());
  ASSERT_FALSE(responses.empty());
  EXPECT_TRUE(responses.back().result().in_use());
  v1::GetCalibrationResponse got;
  ASSERT_TRUE(server.Get(&got).ok());
  EXPECT_EQ(got.fingerprint(), responses.back().result().fingerprint());
  v1::ListDevicesResponse listed;
  ASSERT_TRUE(server.List(&listed).ok());
  EXPECT_EQ(listed.devices(0).fingerprint(), got.fingerprint());
  const std::string metrics = server.Metrics();
  EXPECT_THAT(metrics, HasSubstr("sextant_gpu_probe_runs_total{outcome=\"ok\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("hostname=\"node1\",dtype=\"bf16\",window=\"burst\"} 5000000000"));
  EXPECT_THAT(metrics, HasSubstr("sextant_calls_total{code=\"OK\",method="
                                 "\"sextant.v1.HardwareService/RunProbe\",protocol=\"grpc\"} 1\n"));
}

struct CallFault {
  const char* name;
  std::string commands;
  const char* fault;
};

TEST(RunProbeCall, SurvivesEveryFaultOfTheProbe) {
  const CallFault cases[] = {
      {"Crash", WriteProgress("x", 0) + "kill -SEGV $$", "crashed"},
      {"Exit", "exit 1", "exited"},
      {"Garbage", "echo garbage; sleep 1000", "garbage"},
      {"Silence", "exit 0", "silent"},
      {"PartialLine", "printf '{\"cal'", "partial_line"},
      {"Mismatch", WriteFailure("MISMATCH", "matmul") + "exit 5", "mismatch"},
  };
  for (const CallFault& c : cases) {
    ProbingServer server(c.commands);
    const grpc::Status status = server.Probe();
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << c.name;
    const auto info = DetailOf<google::rpc::ErrorInfo>(status);
    EXPECT_EQ(info.reason(), "PROBE_FAILED") << c.name;
    EXPECT_EQ(info.metadata().at("fault"), c.fault) << c.name;
    EXPECT_TRUE(server.Plans()) << c.name;
    v1::GetCalibrationResponse none;
    const grpc::Status unmeasured = server.Get(&none);
    EXPECT_EQ(unmeasured.error_code(), grpc::StatusCode::FAILED_PRECONDITION) << c.name;
    EXPECT_EQ(DetailOf<google::rpc::PreconditionFailure>(unmeasured).violations(0).subject(),
              "CPU-0123456789abcdef");
  }
}

TEST(RunProbeCall, LetsPlansAndHealthAnswerMeanwhile) {
  const TemporaryFolder folder;
  const Latch latch(folder);
  ProbingServer server(WriteProgress("matmul", 0) + latch.WaitCommand() +
                       WriteCalibration(FakeCalibration()));
  grpc::ClientContext context;
  const auto reader = server.hardware().RunProbe(&context, {});
  v1::RunProbeResponse response;
  ASSERT_TRUE(reader->Read(&response));  // it runs, and waits
  EXPECT_TRUE(server.Plans());
  httplib::Client http("http://" + server.server().server().http_address());
  EXPECT_EQ(http.Get("/readyz")->status, 200);
  const grpc::Status second = server.Probe();
  EXPECT_EQ(second.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(second).reason(), "PROBE_RUNNING");
  EXPECT_GE(DetailOf<google::rpc::RetryInfo>(second).retry_delay().seconds(), 1);
  latch.Open();
  ASSERT_TRUE(reader->Read(&response));
  EXPECT_TRUE(response.has_result());
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_TRUE(reader->Finish().ok());
}

// The first probe waits for ever; the second finds a file of the first, and ends.
std::string HangsOnce() {
  return absl::StrCat(
      "mark=\"$(dirname \"$0\")/mark\"\nif [ ! -e \"$mark\" ]; then\n: >\"$mark\"\n",
      WriteProgress("matmul", 0), "sleep 1000\nfi\n", WriteCalibration(FakeCalibration()));
}

TEST(RunProbeCall, KillsTheProbeWhenTheClientLeaves) {
  ProbingServer server(HangsOnce());
  {
    grpc::ClientContext context;
    const auto reader = server.hardware().RunProbe(&context, {});
    v1::RunProbeResponse response;
    ASSERT_TRUE(reader->Read(&response));
    context.TryCancel();
    EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
  }
  EXPECT_EQ(server.FirstOutcome(), "cancelled");
  EXPECT_TRUE(server.ProbeOnceFree().ok());
}

TEST(RunProbeCall, KillsTheProbeAtTheClientsDeadline) {
  ProbingServer server(HangsOnce());
  v1::ListDevicesResponse listed;  // or the deadline could pass before the probe starts
  ASSERT_TRUE(server.List(&listed).ok());
  EXPECT_EQ(server.ProbeFor(std::chrono::milliseconds(300)).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  server.LetTheNextEnd();  // on a busy host this one may not have come to its mark
  EXPECT_TRUE(server.ProbeOnceFree().ok());
  // Killed by then, and not waited for.
  EXPECT_THAT(server.Metrics(),
              Not(HasSubstr("sextant_gpu_probe_runs_total{outcome=\"timeout\"}")));
}

TEST(RunProbeCall, IsCountedAsLateAtTheClientsDeadline) {
  ProbingServer server("sleep 1000");
  v1::ListDevicesResponse listed;
  ASSERT_TRUE(server.List(&listed).ok());
  // On a busy host a deadline can pass before the server knows of the call, or of its end; a
  // deadline twice as long is resolved more precisely.
  for (auto timeout = std::chrono::milliseconds(100); timeout < std::chrono::seconds(10);
       timeout *= 2) {
    while (server.ProbeFor(timeout).error_code() == grpc::StatusCode::ABORTED) {
      // The probe of the call before is being killed, and that call not counted yet.
    }
    if (server.HasCountedAProbeCall("DEADLINE_EXCEEDED")) return;
  }
  FAIL() << "counted as cancelled: " << server.HasCountedAProbeCall("CANCELLED");
}

TEST(RunProbeCall, IsCancelledWhenTheServerHasDrained) {
  ProbingServer server(WriteProgress("matmul", 0) + "sleep 1000");
  grpc::ClientContext context;
  const auto reader = server.hardware().RunProbe(&context, {});
  v1::RunProbeResponse response;
  ASSERT_TRUE(reader->Read(&response));
  server.server().server().Drain();  // returns, though the probe would not
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_FALSE(reader->Finish().ok());
}

TEST(RunProbeCall, EndsWithTheServer) {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<v1::RunProbeResponse>> reader;
  std::shared_ptr<grpc::Channel> channel;
  {
    ProbingServer server(WriteProgress("matmul", 0) + "sleep 1000");
    channel = server.server().channel();
    reader = server.hardware().RunProbe(&context, {});
    v1::RunProbeResponse response;
    ASSERT_TRUE(reader->Read(&response));
  }
  EXPECT_FALSE(reader->Finish().ok());
}

// A client that does not read: progress that it can't take is replaced by newer progress, the probe
// continues, and the result waits for the client.
TEST(RunProbeCall, DoesNotWaitForASlowClient) {
  constexpr int kCount = 20'000;
  const std::string phase(250, 'x');
  ProbingServer server(absl::StrCat("i=0; while [ $i -lt ", kCount, " ]; do i=$((i+1))\n",
                                    WriteProgress(phase, 0.5), "done\n",
                                    WriteCalibration(FakeCalibration())));
  grpc::ClientContext context;
  const auto reader = server.hardware().RunProbe(&context, {});
  EXPECT_EQ(server.FirstOutcome(), "ok");
  int progress_count = 0;
  int result_count = 0;
  v1::RunProbeResponse response;
  while (reader->Read(&response)) {
    EXPECT_EQ(result_count, 0) << "the result comes last";
    ++(response.has_progress() ? progress_count : result_count);
  }
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(result_count, 1);
  EXPECT_LT(progress_count, kCount);
}

TEST(ListDevicesCall, WaitsForTheListWithoutHoldingAThread) {
  const TemporaryFolder folder;
  const Latch latch(folder);
  ServerOptions options = TestServer::Options();
  options.probe_program =
      WriteScript(folder, "probe", latch.WaitCommand() + WriteDevice(FakeDevice()));
  const TestServer server(options);
  // More calls than gRPC has threads for its callbacks.
  std::vector<std::future<int>> calls;
  for (int i = 0; i < 8; ++i) {
    calls.push_back(std::async(std::launch::async, [&] {
      grpc::ClientContext context;
      v1::ListDevicesResponse response;
      const grpc::Status status = server.hardware().ListDevices(&context, {}, &response);
      return status.ok() ? response.devices_size() : -1;
    }));
  }
  v1::PlanRunResponse plan;
  EXPECT_TRUE(server.PlanRun(TestServer::GoodRequest(), &plan).ok());
  latch.Open();
  for (auto& call : calls) EXPECT_EQ(call.get(), 1);
}

TEST(ListDevicesCall, IsCancelledWhenTheServerHasDrained) {
  const TemporaryFolder folder;
  const Latch latch(folder);
  ServerOptions options = TestServer::Options();
  options.probe_program = WriteScript(folder, "probe", latch.WaitCommand() + "sleep 1000");
  options.drain_grace_seconds = 0.1;
  TestServer server(options);
  auto call = std::async(std::launch::async, [&] {
    grpc::ClientContext context;
    v1::ListDevicesResponse response;
    return server.hardware().ListDevices(&context, {}, &response);
  });
  latch.Open();  // the list is in progress
  server.server().Drain();
  EXPECT_FALSE(call.get().ok());
  // Not ended by the probe's own deadline, which is later.
  EXPECT_THAT(MetricsOf(server.server()),
              HasSubstr("sextant_calls_total{code=\"CANCELLED\",method="
                        "\"sextant.v1.HardwareService/ListDevices\",protocol=\"grpc\"} 1\n"));
}

TEST(ListDevicesCall, SaysWhyThereIsNoList) {
  const TestServer server;
  for (int i = 0; i < 2; ++i) {
    grpc::ClientContext context;
    v1::ListDevicesResponse response;
    const grpc::Status status = server.hardware().ListDevices(&context, {}, &response);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
    EXPECT_THAT(status.error_message(), HasSubstr("/nowhere/sextant-probe"));
    EXPECT_EQ(DetailOf<google::rpc::ErrorInfo>(status).metadata().at("fault"), "absent");
  }
}

TEST(GetKernelRatesCall, OfAProductNeedsNoListOfDevices) {
  const TestServer server;
  const auto rates = [&server](const v1::GetKernelRatesRequest& request) {
    grpc::ClientContext context;
    v1::GetKernelRatesResponse response;
    return server.hardware().GetKernelRates(&context, request, &response);
  };
  v1::GetKernelRatesRequest request;
  request.mutable_device()->set_accelerator("h100-sxm");
  const grpc::Status of_product = rates(request);
  EXPECT_TRUE(of_product.ok()) << of_product.error_message();
  request.mutable_device()->mutable_host_devices()->add_devices("GPU-1");
  EXPECT_EQ(rates(request).error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace sextant::server
