// PlanRun over the wire, on measured devices.
#include "server/handler/planning_service.h"

#include <gmock/gmock.h>
#include <grpcpp/support/error_details.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "proto/matmul_kind.h"
#include "server/convert/calibration.h"
#include "tests/server/device_finder.h"
#include "tests/server/planning_server.h"
#include "tests/support/matmul_kinds.h"

namespace sextant::server {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

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

std::string RefusalOf(const grpc::Status& status) {
  google::rpc::Status wire;
  google::rpc::ErrorInfo info;
  if (!grpc::ExtractErrorDetails(status, &wire).ok() || wire.details_size() == 0) return "none";
  return wire.details(0).UnpackTo(&info) ? info.reason() : "none";
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
  v1::PlanRunResponse response;
  ASSERT_TRUE(server.PlanRun(request, &response).ok());
  EXPECT_EQ(MatmulRate(response).calibration_fingerprint(), CalibrationFingerprint(full));
  // Where the request accepts nothing that old, the quick one suffices, without a new measurement.
  request.mutable_rate_requirement()->mutable_maximum_age()->set_seconds(3599);
  const grpc::Status status = server.PlanRun(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(MatmulRate(response).calibration_fingerprint(), CalibrationFingerprint(quick));
}

TEST(PlanningService, PlansOnThisHostsOwnDevice) {
  const PlanningServer server = WithSample();
  for (const char* name : {"host", kUuid}) {
    v1::PlanRunResponse response;
    const grpc::Status status = server.PlanRun(PlanOnDevices({name}), &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
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
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(MatmulRate(response).source(), v1::RATE_SOURCE_MEASURED_SUPPLIED);
  EXPECT_EQ(MatmulRate(response).calibration_fingerprint(),
            CalibrationFingerprint(SampleCalibration()));
}

// The shapes of --matmul are the caller's choice, and may be far from the device's best.
TEST(PlanningService, DoesNotPlanOnShapesThatWereAskedFor) {
  const PlanningServer server{CalibrationSnapshot()};
  v1::PlanRunRequest request = SmallRun();
  v1::Calibration* calibration = SuppliedTo(request).Add();
  *calibration = SampleCalibration();
  RemoveMatmuls(IsSustained, calibration);
  RemoveMatmuls(IsOther, calibration);
  for (auto& matmul : *calibration->mutable_matmuls()) {
    matmul.set_purpose(v1::MatmulMeasurement::PURPOSE_REQUESTED);
  }
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(request, &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(RefusalOf(status), "RATES_NOT_MEASURED");
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr("holds only shapes that a request named"),
                                            HasSubstr("without naming shapes")));
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

// Other rates of the same device, or another source of the same rates, give another fingerprint.
TEST(PlanningService, FingerprintsTheRates) {
  v1::Calibration slower = SampleCalibration();
  RemoveMatmuls(IsSustained, &slower);
  const PlanningServer one = WithSample();
  const PlanningServer two{SnapshotOf({slower})};
  v1::PlanRunRequest supplied = SmallRun();
  *SuppliedTo(supplied).Add() = SampleCalibration();
  v1::PlanRunResponse a, b, c;
  ASSERT_TRUE(one.PlanRun(PlanOnDevices({"host"}), &a).ok());
  ASSERT_TRUE(two.PlanRun(PlanOnDevices({"host"}), &b).ok());
  ASSERT_TRUE(one.PlanRun(supplied, &c).ok());
  EXPECT_NE(a.rates_fingerprint(), b.rates_fingerprint());
  EXPECT_NE(a.rates_fingerprint(), c.rates_fingerprint());
}

// GetCalibration's answer carries the server's annotation, and can be planned with all the same.
TEST(PlanningService, TakesBackWhatTheServerAnnotated) {
  const PlanningServer server{CalibrationSnapshot()};
  v1::PlanRunRequest request = SmallRun();
  v1::Calibration* calibration = SuppliedTo(request).Add();
  *calibration = SampleCalibration();
  calibration->mutable_matmuls(0)->set_datasheet_mfu(0.5);
  v1::PlanRunResponse response;
  ASSERT_TRUE(server.PlanRun(request, &response).ok());
  EXPECT_EQ(MatmulRate(response).calibration_fingerprint(),
            CalibrationFingerprint(SampleCalibration()));
}

TEST(PlanningService, KnowsItsHostsDevicesAlone) {
  const PlanningServer server = WithSample();
  v1::PlanRunResponse response;
  const grpc::Status unknown = server.PlanRun(PlanOnDevices({"CPU-0123456789abcdee"}), &response);
  EXPECT_EQ(unknown.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(RefusalOf(unknown), "DEVICE_UNKNOWN");
  EXPECT_EQ(unknown.error_message(),
            absl::StrCat("device \"CPU-0123456789abcdee\" is not known; near names: ", kUuid,
                         "; all: sextant devices (HardwareService.ListDevices)"));
  const grpc::Status together = server.PlanRun(PlanOnDevices({"gpu-0", "gpu-1"}), &response);
  EXPECT_EQ(together.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(together.error_message(), AllOf(HasSubstr("cluster.device.host_devices.devices[0]"),
                                              HasSubstr("cluster.device.host_devices.devices[1]")));
}

TEST(PlanningService, TheHostAndItsUuidAreOneDevice) {
  const PlanningServer server = WithSample();
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(PlanOnDevices({"host", kUuid}), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("cluster.device.host_devices.devices[1]"));
}

// A calibration of a device that is gone does not count as a device.
TEST(PlanningService, DoesNotPlanOnDevicesThatAreGone) {
  CalibrationSnapshot snapshot = SnapshotOf({SampleCalibration()});
  snapshot.devices.clear();
  const PlanningServer server{std::move(snapshot)};
  v1::PlanRunResponse response;
  EXPECT_EQ(RefusalOf(server.PlanRun(PlanOnDevices({kUuid}), &response)), "DEVICE_UNKNOWN");
}

TEST(PlanningService, NamesADeviceThatWasNeverMeasured) {
  CalibrationSnapshot snapshot = SnapshotOf({SampleCalibration()});
  snapshot.calibrations.clear();
  const PlanningServer server{std::move(snapshot)};
  v1::PlanRunResponse response;
  const grpc::Status status = server.PlanRun(PlanOnDevices({"host"}), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(RefusalOf(status), "RATES_NOT_MEASURED");
  EXPECT_THAT(status.error_message(), AllOf(HasSubstr(kUuid), HasSubstr("measure it")));
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

TEST(PlanningService, RefusesTooManyNames) {
  const PlanningServer server = WithSample();
  v1::PlanRunResponse response;
  const grpc::Status status =
      server.PlanRun(PlanOnDevices(std::vector<std::string>(65, "host")), &response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), StartsWith("cluster.device.host_devices.devices: are 65"));
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

TEST(PlanningService, NearNamesHoldTheHost) {
  const PlanningServer server = WithSample();
  v1::PlanRunResponse response;
  EXPECT_THAT(server.PlanRun(PlanOnDevices({"hots"}), &response).error_message(),
              HasSubstr("host"));
}

}  // namespace
}  // namespace sextant::server
