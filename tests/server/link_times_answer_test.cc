// Kinds of servers and times of exchanges among them: answers, and over gRPC.
#include "server/handler/link_times_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include <set>
#include <string>

#include "absl/time/time.h"
#include "engine/hardware/catalogue.h"
#include "engine/hardware/links/network.h"
#include "engine/hardware/links/node_type.h"
#include "tests/server/json_call.h"
#include "tests/server/message_matchers.h"
#include "tests/server/sample_calibration.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

constexpr int64_t kLinkMiB = 1 << 20;

absl::StatusOr<v1::GetLinkTimesResponse> LinksOf(const v1::GetLinkTimesRequest& request) {
  SuppliedCalibrations supplied;
  v1::GetLinkTimesResponse response;
  const absl::Status status = AnswerLinkTimes(request, FinderOf(supplied), &response);
  if (!status.ok()) return status;
  return response;
}

v1::GetLinkTimesRequest Among(const std::string& node_type, int64_t nodes, int64_t ranks) {
  v1::GetLinkTimesRequest request;
  request.mutable_nodes()->set_node_type(node_type);
  request.mutable_nodes()->set_node_count(nodes);
  request.mutable_nodes()->set_ranks_per_node(ranks);
  return request;
}

// One call of one size.
v1::GetLinkTimesRequest OneCall(v1::GetLinkTimesRequest request, v1::CollectiveOperation operation,
                                int64_t bytes) {
  request.add_operations(operation);
  request.add_sizes_bytes(bytes);
  return request;
}

// 20 us for any call between nodes, 14 us for the step, 0.94 of 50 GB/s; docs/links.md.
TEST(LinkTimesAnswer, OfASendToAnotherNodeAreTheNetworks) {
  v1::GetLinkTimesRequest request =
      OneCall(Among("hgx-h100", 2, 8), v1::COLLECTIVE_OPERATION_SEND_RECEIVE, 512 * kLinkMiB);
  request.mutable_nodes()->mutable_network()->set_name("IB NDR");
  const auto response = LinksOf(request);
  ASSERT_THAT(response, IsOk());
  const v1::LinkTime& time = response->exchanges(0).times(0);
  const double expected = 34e-6 + 536870912 / (0.94 * 50e9);
  EXPECT_NEAR(time.duration_seconds().expected(), expected, 1e-9);
  EXPECT_NEAR(time.duration_seconds().low(), 536870912 / 50e9,
              1e-12);  // 0.88 of it would beat the line
  EXPECT_NEAR(time.duration_seconds().high(), 1.35 * expected, 1e-9);
  EXPECT_EQ(time.source(), v1::RATE_SOURCE_DATASHEET);
  EXPECT_THAT(SourceAt(response->sources(), time.source_number()),
              AllOf(HasSubstr("ib-ndr"), Not(HasSubstr("within the node"))));
  EXPECT_EQ(response->nodes().network().name(), "ib-ndr");
  EXPECT_EQ(response->network().bytes_per_second(), 50e9);
  EXPECT_THAT(response->assumptions(),
              Contains(IsWireNote(v1::NOTE_KIND_NETWORK_NOT_MODELLED, HasSubstr("Across nodes"))));
}

// The part of a call across nodes that stays within a node has its own source, which is cited.
TEST(LinkTimesAnswer, AcrossNodesNameTheNodesSourceToo) {
  const auto response =
      LinksOf(OneCall(Among("dgx-h100", 4, 8), v1::COLLECTIVE_OPERATION_ALL_REDUCE, kLinkMiB));
  ASSERT_THAT(response, IsOk());
  EXPECT_THAT(SourceAt(response->sources(), response->exchanges(0).times(0).source_number()),
              AllOf(HasSubstr("network: dgx-h100: docs.nvidia.com"), HasSubstr("aiconfigurator")));
}

TEST(LinkTimesAnswer, OfAnUnknownHostLinkAreNone) {
  v1::GetLinkTimesRequest request = Among("gb200-nvl72", 1, 8);
  request.set_host_copies(true);
  const auto response = LinksOf(request);
  ASSERT_THAT(response, IsOk());
  EXPECT_THAT(response->host_copies(), IsEmpty());
  ASSERT_THAT(response->warnings(),
              ElementsAre(IsWireNote(v1::NOTE_KIND_HOST_LINK_UNKNOWN,
                                     AllOf(HasSubstr("Nothing is known"),
                                           HasSubstr("nodes.device.calibrations.calibrations")))));
  EXPECT_THAT(response->warnings(0).fields(),
              ElementsAre("nodes.device.calibrations.calibrations"));
}

TEST(LinkTimesAnswer, FillInDefaults) {
  v1::GetLinkTimesRequest request;
  request.mutable_nodes()->mutable_device()->set_accelerator("gb200");
  const auto response = LinksOf(request);
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->nodes().node_type(), "gb200-nvl72");
  EXPECT_EQ(response->nodes().device().accelerator(), "gb200");
  EXPECT_EQ(response->nodes().node_count(), 1);
  EXPECT_EQ(response->nodes().ranks_per_node(), 72);
  EXPECT_FALSE(response->has_network());
  EXPECT_EQ(response->node_type().device_count(), 72);
  ASSERT_EQ(response->exchanges_size(), 6);
  for (const auto& exchange : response->exchanges()) {
    ASSERT_EQ(exchange.times_size(), 13);  // 2^10 to 2^34 by fours
    EXPECT_EQ(exchange.times(0).size_bytes(), 1024);
    EXPECT_EQ(exchange.times(12).size_bytes(), int64_t{1} << 34);
  }
}

TEST(LinkTimesAnswer, OfOneRankAreNoTimeAndNoRate) {
  const auto response = LinksOf(Among("dgx-h100", 1, 1));
  ASSERT_THAT(response, IsOk());
  for (const auto& exchange : response->exchanges()) {
    for (const v1::LinkTime& time : exchange.times()) {
      EXPECT_EQ(time.duration_seconds().expected(), 0);
      EXPECT_FALSE(time.has_bytes_per_second());
      EXPECT_FALSE(time.has_bus_bytes_per_second());
      EXPECT_EQ(time.source(), v1::RATE_SOURCE_REQUEST);
    }
  }
  EXPECT_THAT(response->assumptions(), Contains(IsWireNote(v1::NOTE_KIND_SINGLE_RANK,
                                                           HasSubstr("nobody to exchange with"))));
  EXPECT_THAT(response->sources(), SizeIs(1));  // the same for all calls
}

TEST(LinkTimesAnswer, OfOneNodeSayThatTheNetworkIsUnused) {
  v1::GetLinkTimesRequest request = Among("hgx-h100", 1, 8);
  request.mutable_nodes()->mutable_network()->set_name("ib-ndr");
  const auto response = LinksOf(request);
  ASSERT_THAT(response, IsOk());
  EXPECT_FALSE(response->has_network());
  EXPECT_FALSE(response->nodes().has_network());
  ASSERT_THAT(response->assumptions(),
              ElementsAre(IsWireNote(v1::NOTE_KIND_LINKS_IDLE, HasSubstr("Nothing else")),
                          IsWireNote(v1::NOTE_KIND_NETWORK_UNUSED, HasSubstr("uses no network"))));
  EXPECT_THAT(response->assumptions(1).fields(), ElementsAre("nodes.network"));
}

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
    for (const json& memory : node.value("processor_memories", json::array())) {
      EXPECT_GT(NumberAt(memory, "/size_bytes"), 1e11) << node;
      EXPECT_GT(NumberAt(memory, "/device_count"), 0) << node;
      EXPECT_NE(memory.value("citation", ""), "") << node;
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

TEST(NodeTypesService, HaveMemoryByAccelerator) {
  const TestServer server;
  const json node = Ask(server, kList, {{"name", "dgx-a100"}})["node_types"][0];
  ASSERT_EQ(node["processor_memories"].size(), 2u);
  const json& smaller = node["processor_memories"][0];
  EXPECT_EQ(NumberAt(smaller, "/size_bytes"), 1e12);
  EXPECT_EQ(NumberAt(smaller, "/device_count"), 8);
  EXPECT_EQ(smaller["accelerators"], json({"a100-sxm-40"}));
  EXPECT_EQ(NumberAt(node["processor_memories"][1], "/size_bytes"), 2e12);
  const json rack = Ask(server, kList, {{"name", "gb300-nvl72"}})["node_types"][0];
  EXPECT_EQ(NumberAt(rack["processor_memories"][0], "/device_count"), 4);
}

TEST(NodeTypesService, LeavesOutWhatIsNotKnown) {
  const TestServer server;
  const json rack = Ask(server, kList, {{"name", "gb200-nvl72"}})["node_types"][0];
  EXPECT_FALSE(rack.contains("host"));
  const json board = Ask(server, kList, {{"name", "hgx-h100"}})["node_types"][0];
  EXPECT_FALSE(board.contains("network"));
  EXPECT_FALSE(board.contains("processor_memories"));
}

TEST(LinkTimesService, AnswersAndCounts) {
  const TestServer server;
  const json answer = Ask(server, kTimes,
                          {{"nodes", {{"node_type", "dgx-h100"}}},
                           {"operations", {"COLLECTIVE_OPERATION_ALL_GATHER"}},
                           {"sizes_bytes", {1048576}}});
  // aiconfigurator's table of H100, NCCL 2.29.2; each rank moves 7 / 8 of the bytes.
  const json& time = answer["exchanges"][0]["times"][0];
  EXPECT_NEAR(NumberAt(time, "/duration_seconds/expected"), 17.13e-6, 1e-12);
  EXPECT_NEAR(NumberAt(time, "/bytes_per_second"), 1048576 / 17.13e-6, 1);
  EXPECT_NEAR(NumberAt(time, "/bus_bytes_per_second"), 0.875 * 1048576 / 17.13e-6, 2);
  EXPECT_EQ(time["basis"], "KERNEL_BASIS_MEASURED");
  EXPECT_EQ(time["source"], "RATE_SOURCE_REFERENCE");
  EXPECT_THAT(SourceOf(answer, time), AllOf(HasSubstr("aiconfigurator"), HasSubstr("2.29.2")));
  json refusal;
  EXPECT_FALSE(CallJson(server, kTimes, json::object(), &refusal).ok());
  httplib::Client http("http://" + server.server().http_address());
  const std::string metrics = http.Get("/metrics")->body;
  EXPECT_THAT(metrics,
              HasSubstr("sextant_calls_total{code=\"OK\",method=\""
                        "sextant.v1.HardwareService/GetLinkTimes\",protocol=\"grpc\"} 1\n"));
  EXPECT_THAT(metrics,
              HasSubstr("sextant_calls_total{code=\"INVALID_ARGUMENT\",method=\""
                        "sextant.v1.HardwareService/GetLinkTimes\",protocol=\"grpc\"} 1\n"));
}

}  // namespace
}  // namespace sextant::server
