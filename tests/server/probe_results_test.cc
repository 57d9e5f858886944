// Results of a probe: of several GPUs, each measured by a probe of its own, and calibrations that
// plans do not use.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/reason.h"
#include "tests/server/fake_probe.h"
#include "tests/server/scripted_probe_host.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StrEq;

v1::Device GpuNamed(const std::string& uuid) {
  v1::Device gpu = FakeDevice();
  gpu.set_uuid(uuid);
  gpu.set_kind(v1::DEVICE_KIND_GPU);
  gpu.set_product_name("NVIDIA H200");
  return gpu;
}

// Three GPUs and a processor.
std::vector<v1::Device> GpuHostDevices() {
  return {GpuNamed("GPU-1"), GpuNamed("GPU-2"), GpuNamed("GPU-3"), FakeDevice()};
}

v1::Calibration CalibrationOf(const v1::Device& device) {
  v1::Calibration calibration = FakeCalibration();
  *calibration.mutable_device() = device;
  return calibration;
}

// Commands that measure the requested GPU, but run `instead` for `unlike`.
std::string MeasuresAllBut(const std::string& unlike, const std::string& instead) {
  std::string script = "case \"$*\" in\n";
  for (const char* uuid : {"GPU-1", "GPU-2", "GPU-3"}) {
    absl::StrAppend(&script, "*--device=", uuid, "\\ *)\n", WriteProgress("matmul", 0.5),
                    uuid == unlike ? instead : WriteCalibration(CalibrationOf(GpuNamed(uuid))),
                    "\n;;\n");
  }
  return script + "esac\n";
}

std::vector<std::string> MeasuredOf(const ScriptedProbeHost::Outcome& outcome) {
  std::vector<std::string> out;
  for (const v1::RunProbeResponse& r : outcome.responses) {
    if (r.has_result()) out.push_back(r.result().calibration().device().uuid());
  }
  return out;
}

std::vector<double> FractionsOf(const ScriptedProbeHost::Outcome& outcome) {
  std::vector<double> out;
  for (const v1::RunProbeResponse& r : outcome.responses) {
    if (r.has_progress()) out.push_back(r.progress().fraction());
  }
  return out;
}

TEST(SeveralDevices, EachIsMeasuredAndProgressIsThatOfAll) {
  ScriptedProbeHost host(MeasuresAllBut("none", ""), GpuHostDevices());
  const auto outcome = host.Run();
  ASSERT_THAT(outcome.status, IsOk());
  EXPECT_THAT(MeasuredOf(outcome), ElementsAre("GPU-1", "GPU-2", "GPU-3"));
  EXPECT_THAT(FractionsOf(outcome), ElementsAre(0.5 / 3, 1.5 / 3, 2.5 / 3));
  for (const char* uuid : {"GPU-1", "GPU-2", "GPU-3"}) {
    EXPECT_NE(host.store().snapshot()->FindAll(uuid), nullptr) << uuid;
  }
  EXPECT_EQ(host.store().snapshot()->FindAll("host"), nullptr);
  EXPECT_TRUE(host.Counts("sextant_gpu_probe_runs_total{outcome=\"ok\"} 3"));
  EXPECT_TRUE(host.Counts("sextant_gpu_probe_state{state=\"ok\"} 1"));
}

TEST(SeveralDevices, OneThatIsRefusedCostsNoOtherItsCalibration) {
  ScriptedProbeHost host(
      MeasuresAllBut("GPU-2", WriteFailure("REFUSED", "somebody computes", "busy") + "exit 4"),
      GpuHostDevices());
  const auto outcome = host.Run();
  EXPECT_THAT(outcome.status, Fails(absl::StatusCode::kFailedPrecondition, "PROBE_REFUSED"));
  EXPECT_THAT(MetadataOf(outcome.status), Contains(Pair("reason", "busy")));
  EXPECT_THAT(MetadataOf(outcome.status), Contains(Pair("device_uuid", "GPU-2")));
  EXPECT_THAT(std::string(outcome.status.message()),
              HasSubstr("1 of 3 devices were not measured; the first of them, GPU-2: "));
  EXPECT_THAT(MeasuredOf(outcome), ElementsAre("GPU-1", "GPU-3"));
  EXPECT_NE(host.store().snapshot()->FindAll("GPU-3"), nullptr);
  EXPECT_TRUE(host.Counts("sextant_gpu_probe_runs_total{outcome=\"ok\"} 2"));
  EXPECT_TRUE(host.Counts("sextant_gpu_probe_refusals_total{reason=\"busy\"} 1"));
}

TEST(SeveralDevices, AWrongResultOrACrashOfOneLeavesTheOthers) {
  for (const std::string& end :
       {WriteFailure("MISMATCH", "peer copy", "peer") + "exit 5", std::string("kill -SEGV $$")}) {
    ScriptedProbeHost host(MeasuresAllBut("GPU-1", end), GpuHostDevices());
    ::testing::internal::CaptureStderr();
    const auto outcome = host.Run();
    ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(outcome.status, Fails(absl::StatusCode::kUnavailable, "PROBE_FAILED")) << end;
    EXPECT_THAT(MeasuredOf(outcome), ElementsAre("GPU-2", "GPU-3")) << end;
    if (end.find("MISMATCH") == std::string::npos) continue;
    EXPECT_THAT(host.store().snapshot()->distrusted, ElementsAre("GPU-1"));
    EXPECT_TRUE(host.Counts("sextant_gpu_probe_mismatches_total{check=\"peer\"} 1"));
  }
}

TEST(SeveralDevices, WhereNoneCouldBeMeasuredTheFirstErrorIsAnswered) {
  ScriptedProbeHost host(WriteFailure("REFUSED", "warm", "hot") + "exit 4", GpuHostDevices());
  const auto outcome = host.Run();
  EXPECT_THAT(MetadataOf(outcome.status), Contains(Pair("reason", "hot")));
  EXPECT_THAT(MetadataOf(outcome.status), Contains(Pair("device_uuid", "GPU-1")));
  EXPECT_THAT(std::string(outcome.status.message()), HasSubstr("3 of 3 devices"));
  EXPECT_TRUE(host.Counts("sextant_gpu_probe_refusals_total{reason=\"hot\"} 3"));
}

TEST(SeveralDevices, ACallerWhoLeavesEndsItAndWhatWasMeasuredStays) {
  ScriptedProbeHost host(MeasuresAllBut("GPU-2", "sleep 1000"), GpuHostDevices());
  const auto cancellation = std::make_shared<Cancellation>();
  const auto leave_at_the_second = [&](const v1::RunProbeResponse& response) {
    if (response.progress().fraction() > 1.0 / 3) cancellation->Cancel();
  };
  const auto outcome = host.Start({}, cancellation, leave_at_the_second).get();
  EXPECT_THAT(outcome.status, Fails(absl::StatusCode::kCancelled, "PROBE_CANCELLED"));
  EXPECT_THAT(MeasuredOf(outcome), ElementsAre("GPU-1"));
  EXPECT_NE(host.store().snapshot()->FindAll("GPU-1"), nullptr);
  EXPECT_EQ(host.store().snapshot()->FindAll("GPU-3"), nullptr);
  EXPECT_TRUE(host.Counts("sextant_gpu_probe_runs_total{outcome=\"cancelled\"} 1"));
}

TEST(SeveralDevices, ADeviceDoesNotAnswerForAnother) {
  ScriptedProbeHost host(WriteCalibration(CalibrationOf(GpuNamed("GPU-1"))), GpuHostDevices());
  v1::RunProbeRequest request;
  request.add_devices("GPU-2");
  const auto outcome = host.Run(request);
  EXPECT_THAT(MetadataOf(outcome.status), ElementsAre(Pair("fault", "garbage")));
}

// Asked for GPUs only, a probe fails with the reason.
std::string WithoutGpus(const std::string& reason) {
  return "case \"$*\" in *--backend=cuda*)\n" +
         WriteFailure("UNSUPPORTED", "there is none", reason) + "exit 3 ;; esac\n";
}

TEST(GpuProbeState, SaysWhyThereIsNoGpu) {
  for (const std::string state : {"no_driver", "driver_too_old", "stub"}) {
    const TemporaryFolder folder;
    const Cancellation never;
    const std::string script =
        WriteScript(folder, "probe", WithoutGpus(state) + ListsAnd("exit 1"));
    const auto devices = ListDevices(script, never);
    ASSERT_THAT(devices, IsOk());
    EXPECT_EQ(GpuState(*devices, script, never), state);
  }
}

TEST(GpuProbeState, IsOneOfItsWordsAndShownInTheFullSetAlone) {
  prometheus::Registry registry;
  ProbeMetrics fleet(registry, ProbeMetricsSet::kFleet);
  fleet.SetGpuState("ok");
  EXPECT_FALSE(fleet.shows_gpu_state());
  const auto text = [](const prometheus::Registry& shown) {
    return prometheus::TextSerializer().Serialize(shown.Collect());
  };
  EXPECT_THAT(text(registry), ::testing::Not(HasSubstr("sextant_gpu_probe_state")));
  prometheus::Registry full_registry;
  ProbeMetrics full(full_registry, ProbeMetricsSet::kFull);
  EXPECT_THAT(text(full_registry), ::testing::Not(HasSubstr("sextant_gpu_probe_state")));
  full.SetGpuState("driver_too_old");
  EXPECT_THAT(text(full_registry),
              HasSubstr("sextant_gpu_probe_state{state=\"driver_too_old\"} 1\n"));
  full.SetGpuState("no_cublaslt");
  EXPECT_THAT(text(full_registry),
              HasSubstr("sextant_gpu_probe_state{state=\"driver_too_old\"} 0\n"));
  EXPECT_THAT(text(full_registry), HasSubstr("sextant_gpu_probe_state{state=\"no_cublaslt\"} 1\n"));
  full.SetGpuState("phase of the moon");
  EXPECT_THAT(text(full_registry), ::testing::Not(HasSubstr("} 1\n")));
}

// Measured some minutes ago by the host's clock, which decides what is too old.
v1::Calibration MeasuredMinutesAgo(int minutes, v1::ProbeMode mode) {
  v1::Calibration out = FakeCalibration();
  out.set_mode(mode);
  out.mutable_measured_time()->set_seconds(absl::ToUnixSeconds(absl::Now()) - 60 * minutes);
  return out;
}

v1::Calibration WithCoverage(double ratio, v1::Calibration calibration) {
  calibration.set_coverage_ratio(ratio);
  return calibration;
}

v1::Calibration WithUnstableCopy(v1::Calibration calibration) {
  calibration.mutable_streams(1)->mutable_time()->set_stable(false);
  return calibration;
}

std::string TimeOf(const v1::Calibration& calibration) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ",
                          absl::FromUnixSeconds(calibration.measured_time().seconds()),
                          absl::UTCTimeZone());
}

v1::RunProbeResponse::Result ResultOf(const v1::Calibration& former, const v1::Calibration& next) {
  ScriptedProbeHost host(WriteCalibration(next));
  host.store().Keep(former);
  const auto outcome = host.Run();
  EXPECT_THAT(outcome.status, IsOk());
  return outcome.responses.back().result();
}

TEST(UnusedCalibration, IsExplained) {
  using ProbeResponse = v1::RunProbeResponse;
  const v1::Calibration full = MeasuredMinutesAgo(9, v1::PROBE_MODE_FULL);
  const v1::Calibration standard = MeasuredMinutesAgo(9, v1::PROBE_MODE_STANDARD);
  const v1::Calibration quick = MeasuredMinutesAgo(1, v1::PROBE_MODE_QUICK);
  const v1::Calibration starved = WithCoverage(0.3, MeasuredMinutesAgo(1, v1::PROBE_MODE_STANDARD));
  const v1::Calibration unstable = WithUnstableCopy(MeasuredMinutesAgo(1, v1::PROBE_MODE_STANDARD));
  const v1::Calibration earlier = MeasuredMinutesAgo(10, v1::PROBE_MODE_STANDARD);
  const struct {
    v1::Calibration former;
    v1::Calibration next;
    ProbeResponse::UnusedReason reason;
    bool kept;
    std::string text;
  } cases[] = {
      {full, quick, ProbeResponse::UNUSED_REASON_LESS_FULL, true,
       "The full calibration of " + TimeOf(full) +
           " stays in use: a quick one is less thorough. This one is kept too."},
      {standard, starved, ProbeResponse::UNUSED_REASON_LESS_FULL, false,
       "The standard calibration of " + TimeOf(standard) +
           " stays in use: it covers 100 % of its mode's points, this one 30 %. This one is not "
           "kept."},
      {standard, unstable, ProbeResponse::UNUSED_REASON_UNSTABLE, false,
       "The standard calibration of " + TimeOf(standard) +
           " stays in use: its rates are stable, and those of this one are not. This one is not "
           "kept."},
      {standard, earlier, ProbeResponse::UNUSED_REASON_OLDER, false,
       "The standard calibration of " + TimeOf(standard) +
           " stays in use: by its time stamp it was measured later, so the clock was set back "
           "since. This one is not kept."},
  };
  for (const auto& c : cases) {
    const ProbeResponse::Result result = ResultOf(c.former, c.next);
    EXPECT_FALSE(result.in_use()) << c.text;
    EXPECT_THAT(result.kept(), Eq(c.kept)) << c.text;
    EXPECT_THAT(result.unused_reason(), Eq(c.reason)) << c.text;
    EXPECT_THAT(result.unused_text(), StrEq(c.text));
    EXPECT_EQ(result.in_use_mode(), c.former.mode());
    EXPECT_EQ(result.in_use_measured_time().seconds(), c.former.measured_time().seconds());
    EXPECT_EQ(result.storage_warning(), "");
  }
}

// The stored one of its mode is better, and one of another mode is in use.
TEST(UnusedCalibration, NamesBothThatAreBetter) {
  const v1::Calibration full = MeasuredMinutesAgo(9, v1::PROBE_MODE_FULL);
  const v1::Calibration standard = MeasuredMinutesAgo(8, v1::PROBE_MODE_STANDARD);
  ScriptedProbeHost host(
      WriteCalibration(WithCoverage(0.3, MeasuredMinutesAgo(1, v1::PROBE_MODE_STANDARD))));
  host.store().Keep(full);
  host.store().Keep(standard);
  const auto outcome = host.Run();
  ASSERT_THAT(outcome.status, IsOk());
  const v1::RunProbeResponse::Result& result = outcome.responses.back().result();
  EXPECT_THAT(result.unused_text(),
              StrEq("The full calibration of " + TimeOf(full) +
                    " stays in use: a standard one is less thorough. This one is not kept: the "
                    "standard calibration of " +
                    TimeOf(standard) + " is better."));
  EXPECT_FALSE(result.kept());
  EXPECT_TRUE(host.Counts("sextant_gpu_probe_runs_total{outcome=\"partial\"} 1"));
}

// A driver changes while the server runs; a processor reports no driver.
TEST(UnusedCalibration, IsPutToUseWhereTheFormerOneDoesNotFit) {
  v1::Calibration next = MeasuredMinutesAgo(1, v1::PROBE_MODE_QUICK);
  next.mutable_device()->set_driver_version("590.1");
  const v1::RunProbeResponse::Result result =
      ResultOf(MeasuredMinutesAgo(9, v1::PROBE_MODE_FULL), next);
  EXPECT_TRUE(result.in_use());
  EXPECT_TRUE(result.kept());
  EXPECT_EQ(result.in_use_mode(), v1::PROBE_MODE_QUICK);
  EXPECT_EQ(result.unused_text(), "");
}

}  // namespace
}  // namespace sextant::server
