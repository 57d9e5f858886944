// PlanRun over the wire, on measured devices.
#include "server/handler/planning_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/convert/calibration.h"
#include "tests/server/device_finder.h"
#include "tests/server/planning_server.h"
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

TEST(PlanningService, PlansOnASuppliedCalibration) {
  const PlanningServer server{CalibrationSnapshot()};
  v1::PlanRunRequest request = SmallRun();
  *SuppliedTo(request).Add() = SampleCalibration();
  const v1::PlanRunResponse response = server.Planned(request);
  EXPECT_EQ(MatmulRate(response).source(), v1::RATE_SOURCE_MEASURED_SUPPLIED);
  EXPECT_EQ(MatmulRate(response).calibration_fingerprint(),
            CalibrationFingerprint(SampleCalibration()));
}

// The same version, request and rates give the same bytes, whatever the source of the rates.
TEST(PlanningService, AnswersAlikeEveryTime) {
  const PlanningServer one = WithSample();
  const PlanningServer two = WithSample();
  v1::PlanRunRequest request = PlanOnDevices({"host"});
  request.mutable_options()->set_view(v1::PLAN_VIEW_FULL);
  request.mutable_options()->set_include_derivation(true);
  v1::PlanRunResponse first;
  ASSERT_TRUE(one.PlanRun(request, &first).ok());
  EXPECT_GT(first.plan().derivation_size(), 20);
  for (const PlanningServer* server : {&one, &two}) {
    v1::PlanRunResponse again;
    ASSERT_TRUE(server->PlanRun(request, &again).ok());
    EXPECT_EQ(again.SerializeAsString(), first.SerializeAsString());
  }
}

// GetCalibration's answer carries the server's annotation, and can be planned with all the same.
TEST(PlanningService, TakesBackWhatTheServerAnnotated) {
  const PlanningServer server{CalibrationSnapshot()};
  v1::PlanRunRequest request = SmallRun();
  v1::Calibration* calibration = SuppliedTo(request).Add();
  *calibration = SampleCalibration();
  calibration->mutable_matmuls(0)->set_datasheet_mfu(0.5);
  const v1::PlanRunResponse response = server.Planned(request);
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

TEST(PlanningService, MeasuresAgeByItsOwnClock) {
  const PlanningServer server = WithSample();
  v1::PlanRunRequest request = PlanOnDevices({"host"});
  v1::PlanRunResponse response;
  request.mutable_rate_requirement()->mutable_maximum_age()->set_seconds(3600);
  EXPECT_TRUE(server.PlanRun(request, &response).ok());
  request.mutable_rate_requirement()->mutable_maximum_age()->set_seconds(3599);
  const grpc::Status status = server.PlanRun(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_THAT(status.error_message(), HasSubstr("3600 seconds ago"));
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

}  // namespace
}  // namespace sextant::server
