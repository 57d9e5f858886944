// `sextant devices` and `sextant calibration` from their arguments to their exit codes.
#include <gmock/gmock.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/report/hardware_text.h"
#include "tests/client/fake_server.h"
#include "tests/client/sample_calibration.h"
#include "tests/client/sample_plan.h"
#include "tests/support/temporary_folder.h"

namespace sextant::client {
namespace {

using ::google::protobuf::util::MessageDifferencer;
using ::testing::HasSubstr;

HardwareHandlers ListsDevices() {
  return {.list_devices = [](grpc::ServerContext*, const v1::ListDevicesRequest&,
                             v1::ListDevicesResponse* response) {
    *response = SampleDevices();
    return grpc::Status::OK;
  }};
}

HardwareHandlers HoldsCalibration(std::string* device) {
  return {.get_calibration = [=](grpc::ServerContext*, const v1::GetCalibrationRequest& request,
                                 v1::GetCalibrationResponse* response) {
    *device = request.has_device() ? request.device() : "absent";
    *response = SampleHeldCalibration();
    return grpc::Status::OK;
  }};
}

TEST(Devices, AreTextOrJson) {
  const FakeServer server(ListsDevices());
  const Ran text = RunWith({"devices", "--address", server.address()});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out, DevicesText(SampleDevices()));
  const Ran json = RunWith({"devices", "--output=json", "--address", server.address()});
  v1::ListDevicesResponse read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json.out, &read).ok()) << json.out;
  EXPECT_TRUE(MessageDifferencer::Equals(read, SampleDevices()));
}

TEST(Devices, PassOnTheServersError) {
  const FakeServer server(
      HardwareHandlers{.list_devices = [](grpc::ServerContext*, const v1::ListDevicesRequest&,
                                          v1::ListDevicesResponse*) {
        return grpc::Status(grpc::StatusCode::UNAVAILABLE, "sextant-probe is not there");
      }});
  const Ran ran = RunWith({"devices", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 4);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("sextant-probe is not there"));
}

TEST(Calibration, IsOfTheModeThatIsNamed) {
  v1::ProbeMode mode = v1::PROBE_MODE_FULL;
  const FakeServer server(
      {.get_calibration = [&](grpc::ServerContext*, const v1::GetCalibrationRequest& request,
                              v1::GetCalibrationResponse* response) {
        mode = request.mode();
        *response = SampleHeldCalibration();
        return grpc::Status::OK;
      }});
  EXPECT_EQ(RunWith({"calibration", "--address", server.address()}).exit_code, 0);
  EXPECT_EQ(mode, v1::PROBE_MODE_UNSPECIFIED);
  const std::vector<std::string> quick = {"calibration", "--mode=quick", "--address",
                                          server.address()};
  EXPECT_EQ(RunWith(quick).exit_code, 0);
  EXPECT_EQ(mode, v1::PROBE_MODE_QUICK);
  EXPECT_EQ(RunWith({"calibration", "--mode=slow", "--address", server.address()}).exit_code, 2);
}

TEST(Calibration, IsTextOrJson) {
  std::string device;
  const FakeServer server(HoldsCalibration(&device));
  const Ran text = RunWith({"calibration", "--address", server.address()});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out, HeldCalibrationText(SampleHeldCalibration()));
  EXPECT_EQ(device, "absent");
  const Ran json = RunWith({"calibration", "host", "--output=json", "--address", server.address()});
  EXPECT_EQ(device, "host");
  v1::GetCalibrationResponse read;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json.out, &read).ok()) << json.out;
  EXPECT_TRUE(MessageDifferencer::Equals(read, SampleHeldCalibration()));
}

// From one host to a plan made at another.
TEST(Calibration, IsSavedForAPlan) {
  const std::string file = TemporaryFile("saved.json");
  std::string device;
  const FakeServer server(HoldsCalibration(&device));
  EXPECT_EQ(RunWith({"calibration", "--save", file, "--address", server.address()}).exit_code, 0);
  v1::PlanRunRequest got;
  const FakeServer planner([&got](grpc::ServerContext*, const v1::PlanRunRequest& request,
                                  v1::PlanRunResponse* response) {
    got = request;
    *response = SampleMeasuredPlan();
    return grpc::Status::OK;
  });
  const Ran ran = RunWith({"plan", "toy", "--calibration", file, "--address", planner.address()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const v1::SuppliedCalibrations& sent = got.cluster().device().calibrations();
  ASSERT_EQ(sent.calibrations_size(), 1);
  EXPECT_TRUE(MessageDifferencer::Equals(sent.calibrations(0), SampleCalibration()));
  EXPECT_THAT(ran.out, HasSubstr("measured-device"));
}

TEST(Calibration, ThatCannotBeSavedIsAMistakeOfUsage) {
  std::string device;
  const FakeServer server(HoldsCalibration(&device));
  const std::pair<std::string, std::string> cases[] = {
      {"/dev/null", "cannot write /dev/null: it is not a regular file; name another"},
      {"/nonexistent/x", "cannot write /nonexistent/x: No such file or directory"},
  };
  for (const auto& [file, message] : cases) {
    const Ran text = RunWith({"calibration", "--save", file, "--address", server.address()});
    EXPECT_EQ(text.exit_code, 2);
    EXPECT_EQ(text.out, "");
    EXPECT_EQ(text.err, absl::StrCat("sextant: ", message, "\n"));
    const Ran json =
        RunWith({"calibration", "--save", file, "--output=json", "--address", server.address()});
    EXPECT_EQ(json.exit_code, 2);
    EXPECT_THAT(json.err, HasSubstr("\"reason\":\"USAGE\""));
    EXPECT_THAT(json.err, HasSubstr(message));
  }
}

TEST(Calibration, OfAnEmptyAnswerIsAnError) {
  const FakeServer server(HardwareHandlers{
      .get_calibration = [](grpc::ServerContext*, const v1::GetCalibrationRequest&,
                            v1::GetCalibrationResponse*) { return grpc::Status::OK; }});
  const Ran ran = RunWith({"calibration", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 6);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("the answer holds no calibration"));
}

// The clock is the test's: SampleCalibration() was measured a day before.
TEST(MeasuredPlan, SaysHowOldItsRatesAre) {
  const FakeServer server(
      [](grpc::ServerContext*, const v1::PlanRunRequest&, v1::PlanRunResponse* response) {
        *response = SampleMeasuredPlan();
        return grpc::Status::OK;
      });
  const Ran ran = RunWith({"plan", "-v", "toy", "--device=host", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("2025-11-21 12:00:00 UTC, 24.0 hours ago"));
}

}  // namespace
}  // namespace sextant::client
