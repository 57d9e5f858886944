// Calibrations that a server loads from its folder, over gRPC.
#include <gtest/gtest.h>

#include <string>

#include "server/store/calibration_store.h"
#include "tests/server/fake_probe.h"
#include "tests/server/test_server.h"

namespace sextant::server {
namespace {

ServerOptions KeepingIn(const TemporaryFolder& folder) {
  ServerOptions options = TestServer::Options();
  options.calibration_directory = folder.File("calibrations");
  return options;
}

TEST(KeptCalibration, SurvivesARestart) {
  const TemporaryFolder folder;
  ServerOptions options = KeepingIn(folder);
  options.probe_program =
      WriteScript(folder, "probe", ListsAnd(WriteCalibration(FakeCalibration())));
  std::string fingerprint;
  for (int start = 0; start < 2; ++start) {
    const TestServer server(options);
    if (start == 0) {
      grpc::ClientContext context;
      const auto reader = server.hardware().RunProbe(&context, {});
      v1::RunProbeResponse response;
      while (reader->Read(&response)) fingerprint = response.result().fingerprint();
      ASSERT_TRUE(reader->Finish().ok());
    }
    grpc::ClientContext context;
    v1::GetCalibrationResponse response;
    v1::GetCalibrationRequest request;
    request.set_device("host");
    ASSERT_TRUE(server.hardware().GetCalibration(&context, request, &response).ok());
    EXPECT_EQ(response.fingerprint(), fingerprint);
    EXPECT_GT(response.age_seconds(), 0);
  }
}

v1::PlanRunRequest RunOnTheHost() {
  v1::PlanRunRequest request;
  request.mutable_model()->set_parameter_count(1'000'000'000);
  request.mutable_training()->set_token_count(20'000'000'000);
  request.mutable_cluster()->mutable_device()->mutable_host_devices()->add_devices("host");
  request.mutable_cluster()->set_device_count(1);
  return request;
}

// A plan needs no probe once there is a calibration, and uses none of another host.
TEST(KeptCalibration, IsPlannedWithWhereThereIsNoProbe) {
  const struct {
    const char* name;
    std::string hostname;
    grpc::StatusCode expected;
  } cases[] = {{"ours", Hostname(), grpc::StatusCode::OK},
               {"another's", Hostname() + "-2", grpc::StatusCode::NOT_FOUND}};
  for (const auto& c : cases) {
    const TemporaryFolder folder;
    const ServerOptions options = KeepingIn(folder);
    v1::Calibration calibration = FakeCalibration();
    calibration.mutable_device()->set_hostname(c.hostname);
    const std::string fingerprint =
        CalibrationStore(options.calibration_directory).Keep(calibration).stored->fingerprint;
    const TestServer server(options);
    v1::PlanRunResponse response;
    const grpc::Status status = server.PlanRun(RunOnTheHost(), &response);
    EXPECT_EQ(status.error_code(), c.expected) << c.name << ": " << status.error_message();
    int measured_count = 0;
    for (const v1::RateUsed& rate : response.plan().rates()) {
      if (rate.source() != v1::RATE_SOURCE_MEASURED_DEVICE) continue;
      ++measured_count;
      EXPECT_EQ(rate.calibration_fingerprint(), fingerprint);
    }
    EXPECT_EQ(measured_count > 0, status.ok()) << c.name;
  }
}

}  // namespace
}  // namespace sextant::server
