// `sextant devices` and `sextant calibration` from their arguments to their exit codes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/report/hardware_text.h"
#include "tests/client/fake_server.h"
#include "tests/client/sample_calibration.h"

namespace sextant::client {
namespace {

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
  ExpectSame(FromJson<v1::ListDevicesResponse>(json.out), SampleDevices());
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

TEST(Calibration, IsTextOrJson) {
  std::string device;
  const FakeServer server(HoldsCalibration(&device));
  const Ran text = RunWith({"calibration", "--address", server.address()});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out, HeldCalibrationText(SampleHeldCalibration()));
  EXPECT_EQ(device, "absent");
  const Ran json = RunWith({"calibration", "host", "--output=json", "--address", server.address()});
  EXPECT_EQ(device, "host");
  ExpectSame(FromJson<v1::GetCalibrationResponse>(json.out), SampleHeldCalibration());
}

// From one host to a plan made at another.
TEST(Calibration, IsSavedForAPlan) {
  const std::string file = TemporaryFile("saved.json");
  std::string device;
  const FakeServer server(HoldsCalibration(&device));
  EXPECT_EQ(RunWith({"calibration", "--save", file, "--address", server.address()}).exit_code, 0);
  const Ran printed = RunWith({"plan", "toy", "--calibration", file, "--print-request"});
  const auto sent = FromJson<v1::PlanRunRequest>(printed.out).cluster().device().calibrations();
  ASSERT_EQ(sent.calibrations_size(), 1);
  ExpectSame(sent.calibrations(0), SampleCalibration());
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

}  // namespace
}  // namespace sextant::client
