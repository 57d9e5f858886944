// Kinds of servers and times of exchanges over gRPC.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <set>
#include <string>

#include "engine/hardware/catalogue.h"
#include "engine/hardware/links/network.h"
#include "engine/hardware/links/node_type.h"
#include "tests/server/json_call.h"

namespace sextant::server {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kList[] = "HardwareService/ListNodeTypes";
constexpr char kTimes[] = "HardwareService/GetLinkTimes";

TEST(NodeTypesService, ListsAllWithASourceForEachFigure) {
  const TestServer server;
  const json answer = Ask(server, kList, json::object());
  ASSERT_EQ(answer["node_types"].size(), NodeTypes().size());
  std::set<std::string> names;
  for (const json& node : answer["node_types"]) {
    names.insert(node["name"]);
    EXPECT_NE(node["device_count_citation"], "");
    EXPECT_GT(NumberAt(node, "/device_count"), 0);
    EXPECT_NE(node["product_name"], "");
    EXPECT_NE(node["link_name"], "");
    ASSERT_TRUE(node.contains("link")) << node;
    for (const char* link : {"link", "host", "network"}) {
      if (!node.contains(link)) continue;
      EXPECT_GT(NumberAt(node[link], "/bytes_per_second"), 1e9) << node;
      EXPECT_NE(node[link].value("citation", ""), "") << node;
    }
    for (const json& accelerator : node["accelerators"]) {
      EXPECT_TRUE(FindAccelerator(accelerator.get<std::string>()).ok()) << accelerator;
    }
  }
  EXPECT_EQ(names.size(), NodeTypes().size());
  ASSERT_EQ(answer["networks"].size(), NamedNetworks().size());
  for (const json& network : answer["networks"]) {
    EXPECT_NE(network.value("citation", ""), "") << network;
    EXPECT_GT(NumberAt(network, "/bytes_per_second"), 1e9);
  }
}

// Eight of 450 GB/s, 63 GB/s to the host and 400 Gb/s to others: DGX BasePOD's table.
TEST(NodeTypesService, FindsOneByAnyOfItsNames) {
  const TestServer server;
  for (const char* name : {"dgx-h100", "NVIDIA DGX H100", "dgx_h100"}) {
    const json answer = Ask(server, kList, {{"name", name}});
    ASSERT_EQ(answer["node_types"].size(), 1u);
    const json& node = answer["node_types"][0];
    EXPECT_EQ(node["name"], "dgx-h100");
    EXPECT_EQ(NumberAt(node, "/device_count"), 8);
    EXPECT_EQ(NumberAt(node, "/link/bytes_per_second"), 450e9);
    EXPECT_EQ(NumberAt(node, "/host/bytes_per_second"), 63e9);
    EXPECT_EQ(NumberAt(node, "/network/bytes_per_second"), 50e9);
    EXPECT_TRUE(node["switch_reduces"].get<bool>());
  }
}

TEST(NodeTypesService, LeavesOutWhatIsNotKnown) {
  const TestServer server;
  const json rack = Ask(server, kList, {{"name", "gb200-nvl72"}})["node_types"][0];
  EXPECT_FALSE(rack.contains("host"));
  const json board = Ask(server, kList, {{"name", "hgx-h100"}})["node_types"][0];
  EXPECT_FALSE(board.contains("network"));
}

TEST(NodeTypesService, AnswersUnknownNamesWithNearOnes) {
  const TestServer server;
  json answer;
  const grpc::Status status = CallJson(server, kList, {{"name", "dgx-h1000"}}, &answer);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("dgx-h100"));
}

TEST(LinkTimesService, AnswersAndCounts) {
  const TestServer server;
  const json answer = Ask(server, kTimes,
                          {{"nodes", {{"node_type", "dgx-h100"}}},
                           {"operations", {"COLLECTIVE_OPERATION_ALL_GATHER"}},
                           {"sizes_bytes", {1048576}}});
  // aiconfigurator's table of H100, NCCL 2.29.2.
  EXPECT_NEAR(NumberAt(answer, "/exchanges/0/times/0/duration_seconds/expected"), 17.13e-6, 1e-12);
  EXPECT_THAT(Faults(server, kTimes, {{"nodes", {{"node_type", "hgx-h100"}, {"node_count", 2}}}}),
              ElementsAre(StartsWith("nodes.network: is missing: 2 nodes of type hgx-h100")));
  httplib::Client http("http://" + server.server().http_address());
  const std::string metrics = http.Get("/metrics")->body;
  EXPECT_THAT(metrics, HasSubstr("sextant_grpc_calls_total{code=\"OK\",method=\""
                                 "sextant.v1.HardwareService/GetLinkTimes\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("sextant_grpc_calls_total{code=\"INVALID_ARGUMENT\",method=\""
                                 "sextant.v1.HardwareService/GetLinkTimes\"} 1\n"));
}

}  // namespace
}  // namespace sextant::server
