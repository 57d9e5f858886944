// `sextant devices`, `calibration`, `links` and `rates`, from their arguments to their exit codes,
// and the texts about devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/report/hardware_text.h"
#include "client/text/text.h"
#include "tests/client/fake_server.h"
#include "tests/client/sample_answers.h"

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

// 34,359,738,368 = 32 x 2^30; 33,554,432 = 32 x 2^20; 85,899,345,920 = 80 x 2^30; 10,800 s are
// three hours.
TEST(DevicesText, IsAsWorkedByHand) {
  EXPECT_EQ(DevicesText(SampleDevices()), R"(Example 8-Core Processor
  kind          cpu
  uuid          CPU-0123456789abcdef
  host          node7
  cores         8
  memory        32.00 GiB
  last cache    32.00 MiB
  instructions  avx2, avx512f, avx512_bf16
  measured      2025-11-21 12:00:00 UTC, 3.0 hours ago
  fingerprint   c0ffee

NVIDIA H100 80GB HBM3
  kind             gpu
  uuid             GPU-00000000-0000-0000-0000-000000000001
  host             node7
  PCI bus          0000:1a:00.0
  multiprocessors  132
  memory           80.00 GiB
  power limit      700 W
  catalogue        h100-sxm
  measured         never; sextant probe measures it
)");
}

TEST(DevicesText, LeavesOutWhatAHostDoesNotTell) {
  v1::ListDevicesResponse response;
  response.add_devices();
  EXPECT_EQ(DevicesText(response),
            "a device without a name\n  measured  never; sextant probe measures it\n");
}

TEST(DevicesText, SaysLoudlyWhichHadAWrongResult) {
  v1::ListDevicesResponse response;
  response.add_devices()->set_distrusted(true);
  EXPECT_THAT(DevicesText(response), HasSubstr("measured  WRONG RESULTS in the last probe"));
}

TEST(DevicesText, OfNoDeviceSaysSo) {
  EXPECT_THAT(DevicesText({}), HasSubstr("no device that can be measured"));
}

TEST(HeldCalibrationText, IsTheCalibrationItsAgeAndWhoHoldsIt) {
  EXPECT_EQ(HeldCalibrationText(SampleHeldCalibration()),
            absl::StrCat(CalibrationText(SampleCalibration(), 3 * 3600),
                         "\nengine 0.1.0, calibration c0ffee\n"));
}

TEST(ProbeResultText, SaysWhatBecameOfIt) {
  v1::RunProbeResponse::Result result = SampleProbeResult().result();
  EXPECT_THAT(ProbeResultText(result),
              HasSubstr("\nIn use: plans on this device stand on it from now on.\n"
                        "engine 0.1.0, calibration c0ffee\n"));
  EXPECT_THAT(ProbeResultText(result), HasSubstr("measured      2025-11-21 12:00:00 UTC\n"));
  v1::RunProbeResponse::Result disturbed = result;
  for (v1::MatmulMeasurement& matmul : *disturbed.mutable_calibration()->mutable_matmuls()) {
    matmul.mutable_time()->set_stable(false);
  }
  for (auto& measured : *disturbed.mutable_calibration()->mutable_streams()) {
    measured.mutable_time()->set_stable(false);
  }
  EXPECT_THAT(
      ProbeResultText(disturbed),
      HasSubstr("\nIn use, for want of a better one: 6 of its 13 times are stable, which "));
  result.set_in_use(false);
  EXPECT_THAT(ProbeResultText(result),
              HasSubstr("\nNot in use: plans on this device go on as before.\n"));
  result.set_unused_text("The full calibration of last week stays in use: it is better.");
  EXPECT_THAT(ProbeResultText(result),
              HasSubstr("\nNot in use. The full calibration of last week stays in use: it is "
                        "better.\n"));
  result.set_storage_warning("/var is full");
  EXPECT_THAT(ProbeResultText(result), HasSubstr("\nWarning: /var is full\n"));
}

using LinksRequest = v1::GetLinkTimesRequest;

// Knows accelerators alone, and answers for those with `status`.
HardwareHandlers KnowsNoNodeType(const grpc::Status& status, LinksRequest* asked) {
  return {.get_link_times = [=](grpc::ServerContext*, const LinksRequest& request,
                                v1::GetLinkTimesResponse*) {
    if (!request.nodes().node_type().empty()) {
      return Refusal(grpc::StatusCode::NOT_FOUND, "NODE_TYPE_UNKNOWN");
    }
    *asked = request;
    return status;
  }};
}

// The client has no catalogue: what is no kind of server may be an accelerator.
TEST(Links, AskForAnAcceleratorWhereTheNameIsNoKindOfServers) {
  LinksRequest asked;
  const FakeServer server(KnowsNoNodeType(grpc::Status::OK, &asked));
  const Ran ran = RunWith({"links", "gb200", "--ranks-per-node=4", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(asked.nodes().device().accelerator(), "gb200");
  EXPECT_EQ(asked.nodes().ranks_per_node(), 4);
}

// A request names its devices once: the accelerator says the kind of server, the calibrations stay.
TEST(Links, AskForTheServersOfAnAcceleratorInAdditionToCalibrations) {
  const std::string file = FileWith("links.json", R"({"device": {"uuid": "GPU-1"}})");
  std::vector<LinksRequest> asked;
  const FakeServer server(
      HardwareHandlers{.get_link_times = [&asked](grpc::ServerContext*, const LinksRequest& request,
                                                  v1::GetLinkTimesResponse* response) {
        asked.push_back(request);
        response->mutable_node_type()->set_name("gb200-nvl72");
        return request.nodes().node_type() == "gb200"
                   ? Refusal(grpc::StatusCode::NOT_FOUND, "NODE_TYPE_UNKNOWN")
                   : grpc::Status::OK;
      }});
  const Ran ran = RunWith({"links", "gb200", "--calibration", file, "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[1].nodes().device().accelerator(), "gb200");
  EXPECT_EQ(asked[2].nodes().node_type(), "gb200-nvl72");
  EXPECT_EQ(asked[2].nodes().device().calibrations().calibrations_size(), 1);
}

TEST(Links, OfANameThatIsNeitherAreTheFirstError) {
  LinksRequest asked;
  const FakeServer server(
      KnowsNoNodeType(Refusal(grpc::StatusCode::NOT_FOUND, "GPU_UNKNOWN"), &asked));
  const Ran ran = RunWith({"links", "toy-9", "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 3);
  EXPECT_THAT(ran.err, HasSubstr("NODE_TYPE_UNKNOWN"));
}

TEST(Links, OfASingleSizeAreNoDrawing) {
  const FakeServer server(
      HardwareHandlers{.get_link_times = [](grpc::ServerContext*, const LinksRequest&,
                                            v1::GetLinkTimesResponse* out) {
        out->add_exchanges()->add_times();
        return grpc::Status::OK;
      }});
  const std::string file = TemporaryFile("none.svg");
  const Ran ran = RunWith({"links", "toy-8", "--svg", file, "--address", server.address()});
  EXPECT_EQ(ran.exit_code, 2);
  EXPECT_THAT(ran.err, HasSubstr("takes two sizes"));
  EXPECT_FALSE(std::ifstream(file).good());
}

TEST(Links, RefuseWrongArguments) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"links"},
                                               {"links", "toy-8", "--operation=shout"},
                                               {"links", "toy-8", "--size=1G"},
                                               {"links", "toy-8", "--node-count=two"},
                                               {"links", "toy-8", "--calibration=/no/such"}}) {
    const Ran ran = RunWith(args);
    EXPECT_EQ(ran.exit_code, 2) << ran.err;
    EXPECT_FALSE(ran.err.empty());
  }
}

TEST(Rates, AreOfADeviceThatIsNamedOnce) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"rates"},
                                               {"rates", "h100-sxm", "h200-sxm"},
                                               {"rates", "h100-sxm", "GPU-1"},
                                               {"rates", "GPU-1", "h100-sxm"},
                                               {"rates", "h100-sxm", "--dtype=bf17"}}) {
    const Ran ran = RunWith(args);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_FALSE(ran.err.empty());
  }
}

}  // namespace
}  // namespace sextant::client
