// PlanRun on measured devices, and BatchPlanRuns, over the wire.
#include "server/handler/planning_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/convert/calibration.h"
#include "tests/server/planning_server.h"
#include "tests/server/sample_calibration.h"
#include "tests/server/wire_values.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kUuid[] = "CPU-0123456789abcdef";

// 1e9 parameters on 2e10 tokens, 1.2e20 FLOP, on devices yet to be named.
v1::PlanRunRequest SmallRun() {
  v1::PlanRunRequest request;
  request.mutable_model()->set_parameter_count(1'000'000'000);
  request.mutable_training()->set_token_count(20'000'000'000);
  request.mutable_cluster()->set_device_count(1);
  return request;
}

v1::PlanRunRequest PlanOnDevices(const std::vector<std::string>& uuids) {
  v1::PlanRunRequest request = SmallRun();
  auto* devices = request.mutable_cluster()->mutable_device()->mutable_host_devices();
  for (const std::string& uuid : uuids) devices->add_devices(uuid);
  request.mutable_cluster()->set_device_count(static_cast<int64_t>(uuids.size()));
  return request;
}

v1::RateUsed MatmulRate(const v1::PlanRunResponse& response) {
  for (const v1::RateUsed& rate : response.plan().rates()) {
    if (rate.quantity() == "matmul_flops_per_second") return rate;
  }
  return {};
}

// A full one, and half an hour later a quick one: the full one is an hour old at the time of the
// plan.
TEST(PlanningService, PlansOnTheCalibrationInUse) {
  v1::Calibration full = SampleCalibration();
  full.set_mode(v1::PROBE_MODE_FULL);
  v1::Calibration quick = SampleCalibration();
  quick.set_mode(v1::PROBE_MODE_QUICK);
  quick.mutable_measured_time()->set_seconds(kMeasured + 1800);
  const PlanningServer server(SnapshotOf({quick, full}));
  v1::PlanRunRequest request = PlanOnDevices({kUuid});
  EXPECT_EQ(MatmulRate(server.Planned(request)).calibration_fingerprint(),
            CalibrationFingerprint(full));
  // Where the request accepts nothing that old, the quick one suffices, without a new measurement.
  request.mutable_rate_requirement()->mutable_maximum_age()->set_seconds(3599);
  EXPECT_EQ(MatmulRate(server.Planned(request)).calibration_fingerprint(),
            CalibrationFingerprint(quick));
}

TEST(PlanningService, PlansOnThisHostsOwnDevice) {
  const PlanningServer server = WithSample();
  for (const char* name : {"host", kUuid}) {
    const v1::PlanRunResponse response = server.Planned(PlanOnDevices({name}));
    // 1.2e20 FLOP at the sustained 1.6e12 FLOP/s
    ASSERT_EQ(response.plan().estimates_size(), 1);  // no peak is known
    const v1::TimeEstimate& bound = response.plan().estimates(0);
    EXPECT_EQ(bound.kind(), v1::ESTIMATE_KIND_MEASURED_BOUND);
    EXPECT_DOUBLE_EQ(bound.duration_seconds().expected(), 7.5e7);
    EXPECT_EQ(bound.measured_fraction(), 1);
    EXPECT_FALSE(bound.has_mfu());
    EXPECT_EQ(response.plan().device(), "Some Processor 9000");
    const v1::RateUsed rate = MatmulRate(response);
    EXPECT_EQ(rate.source(), v1::RATE_SOURCE_MEASURED_DEVICE);
    EXPECT_EQ(rate.value(), 1.6e12);
    EXPECT_EQ(rate.relative_spread(), 0.01);
    EXPECT_TRUE(rate.stable());
    EXPECT_EQ(rate.measured_time().seconds(), kMeasured);
    EXPECT_EQ(rate.device_uuid(), kUuid);
    EXPECT_EQ(rate.calibration_fingerprint(), CalibrationFingerprint(SampleCalibration()));
  }
}

// GetCalibration's answer carries the server's annotation, and can be planned with all the same.
TEST(PlanningService, PlansOnASuppliedCalibration) {
  const PlanningServer server{CalibrationSnapshot()};
  v1::PlanRunRequest request = SmallRun();
  v1::Calibration* const calibration = SuppliedTo(request).Add();
  *calibration = SampleCalibration();
  calibration->mutable_matmuls(0)->set_datasheet_mfu(0.5);
  const v1::PlanRunResponse response = server.Planned(request);
  EXPECT_EQ(MatmulRate(response).source(), v1::RATE_SOURCE_MEASURED_SUPPLIED);
  EXPECT_EQ(MatmulRate(response).calibration_fingerprint(),
            CalibrationFingerprint(SampleCalibration()));
}

TEST(PlanningService, KnowsItsHostsDevicesAlone) {
  const PlanningServer server = WithSample();
  v1::PlanRunResponse response;
  const grpc::Status unknown = server.PlanRun(PlanOnDevices({"CPU-0123456789abcdee"}), &response);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(RefusalReasonOf(unknown), "DEVICE_UNKNOWN");
  EXPECT_EQ(unknown.error_message(),
            absl::StrCat("device \"CPU-0123456789abcdee\" is not known; near names: ", kUuid,
                         "; all: sextant devices (HardwareService.ListDevices)"));
  const grpc::Status together = server.PlanRun(PlanOnDevices({"gpu-0", "gpu-1"}), &response);
  EXPECT_EQ(together.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(together.error_message(), AllOf(HasSubstr("cluster.device.host_devices.devices[0]"),
                                              HasSubstr("cluster.device.host_devices.devices[1]")));
}

// A calibration of a device that is gone does not count as a device.
TEST(PlanningService, DoesNotPlanOnDevicesThatAreGone) {
  CalibrationSnapshot snapshot = SnapshotOf({SampleCalibration()});
  snapshot.devices.clear();
  const PlanningServer server{std::move(snapshot)};
  v1::PlanRunResponse response;
  EXPECT_EQ(RefusalReasonOf(server.PlanRun(PlanOnDevices({kUuid}), &response)), "DEVICE_UNKNOWN");
}

// A calibration that makes no sense is a violation of the request, and its only one.
TEST(PlanningService, NamesWhatIsWrongWithASuppliedCalibration) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest request = SmallRun();
  *SuppliedTo(request).Add() = SampleCalibration("CPU-1");
  *SuppliedTo(request).Add() = SampleCalibration("CPU-2");
  SuppliedTo(request)[1].mutable_matmuls(0)->set_n(-1);
  request.mutable_cluster()->set_device_count(2);
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(
      status.error_message(),
      "cluster.device.calibrations.calibrations[1].matmuls[0].n: must be 1 to 1000000, not -1");
  // From the future by the server's clock; five minutes are tolerated.
  SuppliedTo(request)[1].CopyFrom(SampleCalibration("CPU-2"));
  auto* measured = SuppliedTo(request)[1].mutable_measured_time();
  measured->set_seconds(kMeasured + 3600 + 299);
  EXPECT_TRUE(server.PlanRun(request, &response).ok());
  measured->set_seconds(kMeasured + 3600 + 301);
  EXPECT_EQ(server.PlanRun(request, &response).error_message(),
            "cluster.device.calibrations.calibrations[1].measured_time: is 2026-01-31T13:05:01Z, "
            "and this server's "
            "clock says 2026-01-31T13:00:00Z: compare the clocks, or measure the device again");
}

v1::PlanRunRequest Searching(int64_t devices) {
  v1::PlanRunRequest request = Llama8b(devices);
  request.mutable_layout()->set_global_batch_size(256);
  request.mutable_options()->set_search(v1::LAYOUT_SEARCH_BOUNDED);
  return request;
}

v1::BatchPlanRunsRequest Batch(const std::vector<v1::PlanRunRequest>& runs) {
  v1::BatchPlanRunsRequest out;
  for (const v1::PlanRunRequest& run : runs) *out.add_runs() = run;
  return out;
}

grpc::Status Ask(const PlanningServer& server, const v1::BatchPlanRunsRequest& batch,
                 v1::BatchPlanRunsResponse* out, double timeout_seconds = 60) {
  return server.Call(&v1::PlanningService::Stub::BatchPlanRuns, batch, out, timeout_seconds);
}

std::string RefusalOf(const v1::PlanRunRequest& run) {
  const PlanningServer server = WithSample();
  v1::BatchPlanRunsResponse out;
  EXPECT_TRUE(Ask(server, Batch({Llama8b(8), run}), &out).ok());
  EXPECT_EQ(out.runs_size(), 2);
  if (out.runs_size() < 2) return "";
  EXPECT_TRUE(out.runs(0).has_plan());
  EXPECT_FALSE(out.runs(0).has_status());
  EXPECT_FALSE(out.runs(1).has_plan());
  EXPECT_EQ(out.runs(1).status().code(), static_cast<int>(grpc::StatusCode::INVALID_ARGUMENT));
  return absl::StrJoin(FaultsOf(out.runs(1).status()), "\n");
}

TEST(BatchPlanRuns, PlansEachAsPlanRunDoes) {
  const PlanningServer server = WithSample();
  const std::vector<v1::PlanRunRequest> runs = {Llama8b(8), Searching(16), Searching(64),
                                                Llama8b(1)};
  v1::BatchPlanRunsResponse out;
  ASSERT_TRUE(Ask(server, Batch(runs), &out).ok());
  ASSERT_EQ(out.runs_size(), 4);
  EXPECT_FALSE(out.engine_version().empty());
  for (int i = 0; i < 4; ++i) {
    v1::PlanRunResponse alone;
    ASSERT_TRUE(server.PlanRun(runs[static_cast<size_t>(i)], &alone).ok());
    EXPECT_EQ(out.runs(i).plan().SerializeAsString(), alone.plan().SerializeAsString()) << i;
    EXPECT_EQ(out.runs(i).rates_fingerprint(), alone.rates_fingerprint());
  }
}

TEST(BatchPlanRuns, ABadRunCostsNoOtherItsPlan) {
  v1::PlanRunRequest run = Searching(16);
  run.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(0);
  run.mutable_cluster()->set_device_count(-8);
  const std::string refusal = RefusalOf(run);
  EXPECT_THAT(refusal, HasSubstr("runs[1].layout.parallel.tensor_parallel_size: "));
  EXPECT_THAT(refusal, HasSubstr("runs[1].cluster.device_count: must be 1 to 1000000, not -8"));
}

TEST(BatchPlanRuns, NamesNearProducts) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest run = Llama8b(8);
  run.mutable_cluster()->mutable_device()->set_accelerator("h100-smx");
  run.mutable_cluster()->clear_node_type();
  v1::BatchPlanRunsResponse out;
  ASSERT_TRUE(Ask(server, Batch({run, Llama8b(8)}), &out).ok());
  EXPECT_EQ(out.runs(0).status().code(), static_cast<int>(grpc::StatusCode::NOT_FOUND));
  EXPECT_THAT(out.runs(0).status().message(), HasSubstr("h100-sxm"));
  EXPECT_TRUE(out.runs(1).has_plan());
}

TEST(BatchPlanRuns, RefusesWhatOneCallAnswers) {
  v1::PlanRunRequest run = Searching(16);
  run.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  run.mutable_options()->set_include_derivation(true);
  run.mutable_options()->set_include_ledger(true);
  run.mutable_options()->set_include_operations(true);
  const std::string refusal = RefusalOf(run);
  for (const char* field : {"view", "include_derivation", "include_ledger", "include_operations"}) {
    EXPECT_THAT(refusal, HasSubstr(std::string("runs[1].options.") + field + ": "));
  }
  EXPECT_THAT(refusal, testing::Not(HasSubstr("set options.view")));
}

TEST(BatchPlanRuns, SearchesExhaustivelyInUpTo16Runs) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest run = Searching(16);
  run.mutable_options()->set_search(v1::LAYOUT_SEARCH_EXHAUSTIVE);
  for (const int others : {15, 16}) {
    std::vector<v1::PlanRunRequest> runs(static_cast<size_t>(others), Llama8b(8));
    runs.push_back(run);
    v1::BatchPlanRunsResponse out;
    ASSERT_TRUE(Ask(server, Batch(runs), &out).ok());
    EXPECT_EQ(out.runs(others).has_plan(), others == 15);
    if (others == 15) continue;
    EXPECT_THAT(absl::StrJoin(FaultsOf(out.runs(others).status()), "\n"),
                HasSubstr("runs[16].options.search: must be LAYOUT_SEARCH_BOUNDED at most"));
  }
}

TEST(BatchPlanRuns, TakesOneTo256Runs) {
  const PlanningServer server = WithSample();
  v1::BatchPlanRunsResponse out;
  for (const size_t count : {size_t{0}, size_t{257}}) {
    const grpc::Status refused =
        Ask(server, Batch(std::vector<v1::PlanRunRequest>(count, Llama8b(8))), &out);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(refused.error_message(), HasSubstr("256 "));
  }
  // Each with a layout, a step and its time: the largest answers there are, but for the search.
  v1::PlanRunRequest run = Llama8b(8);
  run.mutable_layout()->set_global_batch_size(256);
  run.mutable_layout()->mutable_parallel()->set_tensor_parallel_size(8);
  const std::vector<v1::PlanRunRequest> most(256, run);
  ASSERT_TRUE(Ask(server, Batch(most), &out).ok());
  EXPECT_EQ(out.runs_size(), 256);
  EXPECT_LT(out.ByteSizeLong(), size_t{2} << 20);
}

TEST(BatchPlanRuns, EndsAtTheCallsDeadline) {
  const PlanningServer server = WithSample();
  v1::BatchPlanRunsResponse out;
  const std::vector<v1::PlanRunRequest> runs(256, Searching(1024));
  const auto start = std::chrono::steady_clock::now();
  const grpc::Status ended = Ask(server, Batch(runs), &out, 0.05);
  EXPECT_EQ(ended.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED);
  // The worker is free again long before all 256 searches could be done.
  v1::PlanRunResponse next;
  ASSERT_TRUE(server.PlanRun(Searching(8), &next).ok());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(15));
}

}  // namespace
}  // namespace sextant::server
