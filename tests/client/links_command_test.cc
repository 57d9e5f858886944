// `sextant links` and `sextant rates`: the names of devices, and what they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/client/fake_server.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;

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
