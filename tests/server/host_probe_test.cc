// A host's probe without the wire: scripts take the place of sextant-probe.
#include "server/probe/host_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <future>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/call/status.h"
#include "server/convert/calibration.h"
#include "server/store/calibration_file.h"
#include "tests/server/fake_probe.h"
#include "tests/server/scripted_probe_host.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Le;
using ::testing::Pair;

constexpr char kProbedUuid[] = "CPU-0123456789abcdef";

TEST(HostProbe, ShowsProgressAndKeepsTheResult) {
  ScriptedProbeHost host(WriteProgress("matmul", 0.5) + WriteCalibration(FakeCalibration()));
  const auto outcome = host.Run();
  ASSERT_THAT(outcome.status, IsOk());
  ASSERT_EQ(outcome.responses.size(), 2u);
  EXPECT_EQ(outcome.responses[0].progress().phase(), "matmul");
  const v1::RunProbeResponse::Result& result = outcome.responses[1].result();
  EXPECT_TRUE(result.in_use());
  EXPECT_TRUE(result.kept());
  EXPECT_EQ(result.unused_reason(), v1::RunProbeResponse::UNUSED_REASON_UNSPECIFIED);
  EXPECT_EQ(result.unused_text(), "");
  EXPECT_EQ(result.in_use_mode(), v1::PROBE_MODE_STANDARD);
  EXPECT_EQ(result.in_use_measured_time().seconds(), 1'700'000'000);
  EXPECT_EQ(result.storage_warning(), "");
  EXPECT_EQ(result.engine_version(), "0.1.0");
  ASSERT_NE(host.store().snapshot()->FindAll("host"), nullptr);
  EXPECT_EQ(host.store().snapshot()->Find("host", {.now = absl::Now()})->fingerprint,
            result.fingerprint());
  EXPECT_TRUE(host.Counts("sextant_gpu_probe_runs_total{outcome=\"ok\"} 1"));
}

TEST(HostProbe, PassesTheRequestToTheProgram) {
  for (const std::string libraries : {"", "/opt/cuda libraries"}) {
    ScriptedProbeHost host(
        "echo \"$@\" >\"$(dirname \"$0\")/arguments\"\n" + WriteCalibration(FakeCalibration()),
        {FakeDevice()}, libraries);
    v1::RunProbeRequest request;
    request.set_mode(v1::PROBE_MODE_QUICK);
    request.add_devices("host");
    ASSERT_THAT(host.Run(request).status, IsOk());
    EXPECT_EQ(ReadFile(host.folder().File("arguments")),
              absl::StrCat("--format=json --mode=quick --budget=2s --backend=host --device=",
                           kProbedUuid, libraries.empty() ? "" : " --library_folder=", libraries,
                           " --parent_pid=", getpid(), "\n"));
  }
}

TEST(HostProbe, AnswersOwnShapesWithoutKeepingThem) {
  ScriptedProbeHost host(WriteCalibration(FakeCalibration()));
  v1::RunProbeRequest request;
  v1::MatmulShape* shape = request.add_matmuls();
  shape->set_data_type(v1::DATA_TYPE_FP32);
  shape->set_m(1);
  shape->set_n(1);
  shape->set_k(1);
  const auto outcome = host.Run(request);
  ASSERT_THAT(outcome.status, IsOk());
  const v1::RunProbeResponse::Result& result = outcome.responses[0].result();
  EXPECT_FALSE(result.in_use());
  EXPECT_FALSE(result.kept());
  EXPECT_EQ(result.unused_reason(), v1::RunProbeResponse::UNUSED_REASON_REQUESTED_SHAPES);
  EXPECT_THAT(result.unused_text(), HasSubstr("Requested shapes"));
  EXPECT_EQ(result.in_use_mode(), v1::PROBE_MODE_UNSPECIFIED);
  EXPECT_EQ(result.fingerprint().size(), 16u);
  EXPECT_THAT(host.store().snapshot()->calibrations, IsEmpty());
}

TEST(HostProbe, StoresNoAnnotations) {
  v1::Calibration claims = FakeCalibration();
  claims.mutable_device()->set_product_name("NVIDIA H100 80GB HBM3");
  claims.mutable_matmuls(0)->set_datasheet_mfu(7);
  ScriptedProbeHost host(WriteCalibration(claims));
  const auto outcome = host.Run();
  ASSERT_THAT(outcome.status, IsOk());
  EXPECT_EQ(outcome.responses[0].result().calibration().device().accelerator(), "h100-sxm");
  EXPECT_LT(outcome.responses[0].result().calibration().matmuls(0).datasheet_mfu(), 0.01);
  const std::string stored = ReadFile(
      CalibrationPath(host.folder().File("calibrations"), kProbedUuid, v1::PROBE_MODE_STANDARD));
  EXPECT_THAT(stored, ::testing::Not(HasSubstr("datasheetMfu")));
  EXPECT_THAT(stored, ::testing::Not(HasSubstr("h100-sxm")));
}

struct BadEvent {
  const char* name;
  std::string commands;
  const char* message;
};

v1::Calibration ChangedResult(void (*change)(v1::Calibration&)) {
  v1::Calibration calibration = FakeCalibration();
  change(calibration);
  return calibration;
}

TEST(HostProbe, TakesNoEventThatMakesNoSense) {
  const auto calibration = [](void (*change)(v1::Calibration&)) {
    return WriteCalibration(ChangedResult(change));
  };
  const BadEvent cases[] = {
      {"no time", calibration([](v1::Calibration& c) { c.clear_measured_time(); }),
       "measured_time"},
      {"infinite rate",
       calibration([](v1::Calibration& c) { c.mutable_matmuls(0)->set_flops_per_second(1 / 0.0); }),
       "flops_per_second"},
      {"newer", calibration([](v1::Calibration& c) { c.set_schema_version(3); }), "schema_version"},
      {"other device", calibration([](v1::Calibration& c) { c.mutable_device()->set_uuid("X"); }),
       "device X, which was not asked for"},
      {"a device", WriteDevice(FakeDevice()), "though none was asked for"},
      {"two results", WriteCalibration(FakeCalibration()) + WriteCalibration(FakeCalibration()),
       "a result more than there are devices"},
      {"fraction", WriteProgress("x", 1.5), "fraction"},
      {"no number", "echo '{\"progress\":{\"fraction\":\"NaN\"}}'\n", "fraction"},
      {"no time", "echo '{\"progress\":{\"elapsedSeconds\":\"Infinity\"}}'\n", "elapsed_seconds"},
  };
  for (const BadEvent& c : cases) {
    ScriptedProbeHost host(c.commands);
    const auto outcome = host.Run();
    EXPECT_THAT(outcome.status, Fails(absl::StatusCode::kUnavailable, "PROBE_FAILED")) << c.name;
    EXPECT_THAT(MetadataOf(outcome.status), Contains(Pair("fault", "garbage"))) << c.name;
    EXPECT_THAT(std::string(outcome.status.message()), HasSubstr(c.message)) << c.name;
  }
}

TEST(HostProbe, CutsTheProbesTexts) {
  ScriptedProbeHost host(WriteProgress(std::string(1000, 'x'), 0) +
                         WriteCalibration(FakeCalibration()));
  EXPECT_EQ(host.Run().responses[0].progress().phase().size(), 256u);
}

// Each error is counted as its own outcome, and leaves the last calibration in use.
TEST(HostProbe, CountsOutcomesAndKeepsTheLastCalibration) {
  const std::string partial =
      WriteCalibration(ChangedResult([](v1::Calibration& c) { c.set_coverage_ratio(0.5); }));
  const struct {
    std::string commands;
    std::vector<std::string> counted;
  } cases[] = {
      {partial, {"sextant_gpu_probe_runs_total{outcome=\"partial\"} 1"}},
      {"exit 1", {"sextant_gpu_probe_runs_total{outcome=\"failed\"} 1"}},
      {WriteFailure("DEADLINE", "late"), {"sextant_gpu_probe_runs_total{outcome=\"timeout\"} 1"}},
      {WriteFailure("REFUSED", "no room", "memory"),
       {"sextant_gpu_probe_runs_total{outcome=\"refused\"} 1",
        "sextant_gpu_probe_refusals_total{reason=\"memory\"} 1"}},
      {WriteFailure("REFUSED", "a limit of processes", "threads"),
       {"sextant_gpu_probe_refusals_total{reason=\"threads\"} 1"}},
      {WriteFailure("REFUSED", "unheard of", "phase of the moon"),
       {"sextant_gpu_probe_refusals_total{reason=\"other\"} 1"}},
  };
  for (const auto& c : cases) {
    ScriptedProbeHost host(c.commands);
    host.store().Keep(FakeCalibration());
    host.Run();
    EXPECT_EQ(host.store().snapshot()->calibrations.size(), 1u) << c.commands;
    for (const std::string& line : c.counted) EXPECT_TRUE(host.Counts(line)) << line;
  }
}

v1::Calibration Newer() {
  return ChangedResult(
      [](v1::Calibration& c) { c.mutable_measured_time()->set_seconds(1'800'000'000); });
}

// Measurements of a probe that then failed are not used.
TEST(HostProbe, JudgesAResultByTheProbesEnd) {
  const struct {
    const char* name;
    std::string commands;
    const char* reason;
  } cases[] = {
      {"Crash", "kill -SEGV $$", "PROBE_FAILED"},
      {"Exit", "exit 1", "PROBE_FAILED"},
      {"SecondResult", WriteCalibration(Newer()), "PROBE_FAILED"},
      {"Garbage", "echo garbage", "PROBE_FAILED"},
      {"Cancelled", WriteProgress("the end", 1) + "sleep 1000", "PROBE_CANCELLED"},
  };
  for (const auto& c : cases) {
    ScriptedProbeHost host(WriteCalibration(Newer()) + c.commands);
    const std::string before = host.store().Keep(FakeCalibration()).stored->fingerprint;
    const auto cancellation = std::make_shared<Cancellation>();
    const auto leave_late = [&](const v1::RunProbeResponse& response) {
      if (response.progress().phase() == "the end") cancellation->Cancel();
    };
    const auto outcome = host.Start({}, cancellation, leave_late).get();
    EXPECT_EQ(ReasonOf(outcome.status), c.reason) << c.name;
    for (const v1::RunProbeResponse& r : outcome.responses) EXPECT_FALSE(r.has_result()) << c.name;
    ASSERT_NE(host.store().snapshot()->FindAll("host"), nullptr) << c.name;
    EXPECT_EQ(host.store().snapshot()->Find("host", {.now = absl::Now()})->fingerprint, before)
        << c.name;
    const auto file = ReadCalibrationFile(
        CalibrationPath(host.folder().File("calibrations"), kProbedUuid, v1::PROBE_MODE_STANDARD));
    ASSERT_THAT(file, IsOk()) << c.name;
    EXPECT_EQ(CalibrationFingerprint(*file), before) << c.name;
  }
}

TEST(HostProbe, WithdrawsTheCalibrationAfterAWrongResult) {
  ScriptedProbeHost host(WriteFailure("MISMATCH", "matmul bf16 512x512x512", "matmul") + "exit 5");
  host.store().Keep(FakeCalibration());
  ::testing::internal::CaptureStderr();
  const auto outcome = host.Run();
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("calibration_set_aside"));
  EXPECT_THAT(MetadataOf(outcome.status), ElementsAre(Pair("fault", "mismatch")));
  EXPECT_THAT(host.store().snapshot()->calibrations, IsEmpty());
  EXPECT_THAT(host.store().snapshot()->distrusted, ElementsAre(kProbedUuid));
  EXPECT_TRUE(host.Counts("sextant_gpu_probe_mismatches_total{check=\"matmul\"} 1"));
  EXPECT_TRUE(host.Counts("sextant_gpu_probe_runs_total{outcome=\"failed\"} 1"));
  ReadFile(host.folder().File("calibrations/CPU-0123456789abcdef.standard.json.mismatch-1"));
}

TEST(HostProbe, RunsOneProbeAtATime) {
  const TemporaryFolder folder;
  const Latch latch(folder);
  ScriptedProbeHost host(latch.WaitCommand() + WriteCalibration(FakeCalibration()));
  v1::RunProbeRequest full;
  full.set_mode(v1::PROBE_MODE_FULL);
  // Listed first, so that the slot is taken when Start() returns.
  std::promise<void> listed;
  host.probe().WhenListed([&](const absl::Status&) { listed.set_value(); });
  listed.get_future().get();
  auto first = host.Start(full, std::make_shared<Cancellation>());
  const auto second = host.Run();
  EXPECT_THAT(second.status, Fails(absl::StatusCode::kAborted, "PROBE_RUNNING"));
  const auto retry_seconds = RetryDelaySecondsOf(second.status);
  ASSERT_TRUE(retry_seconds.has_value());
  EXPECT_THAT(*retry_seconds, AllOf(Ge(1), Le(30 * 1.25)));
  // An invalid request is refused as such, and not asked to wait.
  v1::RunProbeRequest wrong;
  wrong.add_matmuls();
  EXPECT_THAT(host.Run(wrong).status, Fails(absl::StatusCode::kInvalidArgument, "FIELD_INVALID"));
  latch.Open();
  EXPECT_THAT(first.get().status, IsOk());
  auto third = host.Start({}, std::make_shared<Cancellation>());
  latch.Open();
  EXPECT_THAT(third.get().status, IsOk());
}

TEST(HostProbe, ListsAgainAfterAFailure) {
  const TemporaryFolder folder;
  prometheus::Registry registry;
  CalibrationStore store("");
  ProbeMetrics metrics(registry, ProbeMetricsSet::kFleet);
  HostProbe probe({.path = folder.File("probe")}, store, metrics);
  const auto list = [&] {
    std::promise<absl::Status> listed;
    probe.WhenListed([&](const absl::Status& status) { listed.set_value(status); });
    return listed.get_future().get();
  };
  const absl::Status absent = list();
  EXPECT_THAT(absent, Fails(absl::StatusCode::kUnavailable, "PROBE_FAILED"));
  EXPECT_THAT(MetadataOf(absent), ElementsAre(Pair("fault", "absent")));
  WriteScript(folder, "probe", ListsAnd("exit 1"));
  EXPECT_THAT(list(), IsOk());
  EXPECT_EQ(store.snapshot()->devices.size(), 1u);
  // Once listed, the devices need no probe any more.
  WriteScript(folder, "probe", "exit 1");
  EXPECT_THAT(list(), IsOk());
}

TEST(HostProbe, TakesNoDeviceWithoutAName) {
  const TemporaryFolder folder;
  const Cancellation never;
  EXPECT_THAT(ListDevices(WriteScript(folder, "probe", "echo '{\"device\":{}}'"), never),
              Fails(absl::StatusCode::kUnavailable, "PROBE_FAILED"));
}

TEST(HostProbe, TakesNoListWithoutEnd) {
  const TemporaryFolder folder;
  const Cancellation never;
  const auto message_after = [&](const std::string& line) {
    const auto devices =
        ListDevices(WriteScript(folder, "probe", absl::StrCat("yes '", line, "'\n")), never);
    EXPECT_THAT(devices, Fails(absl::StatusCode::kUnavailable, "PROBE_FAILED"));
    return std::string(devices.status().message());
  };
  EXPECT_THAT(message_after(R"({"device":{"uuid":"GPU-1"}})"), HasSubstr("more than 256 devices"));
  EXPECT_THAT(message_after(R"({"progress":{}})"), HasSubstr("more than 1048576 bytes"));
}

TEST(HostProbe, StopsWhatRunsAndAllThatComes) {
  const TemporaryFolder folder;
  ScriptedProbeHost host("sleep 1000");
  std::promise<void> listed;
  host.probe().WhenListed([&](const absl::Status&) { listed.set_value(); });
  listed.get_future().get();
  auto running = host.Start({}, std::make_shared<Cancellation>());
  host.probe().Stop();
  EXPECT_THAT(running.get().status, Fails(absl::StatusCode::kCancelled, "PROBE_CANCELLED"));
  EXPECT_THAT(host.Run().status, Fails(absl::StatusCode::kCancelled, "PROBE_CANCELLED"));
  EXPECT_TRUE(host.Counts("sextant_gpu_probe_runs_total{outcome=\"cancelled\"} 2"));
}

}  // namespace
}  // namespace sextant::server
