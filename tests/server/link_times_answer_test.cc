#include "server/handler/link_times_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "engine/hardware/links/node_type.h"
#include "tests/server/device_finder.h"
#include "tests/server/wire_notes.h"
#include "tests/support/status_matchers.h"

namespace sextant::server {
namespace {

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

struct TimedCall {
  v1::LinkTime time = {};
  std::string source = {};
};

TimedCall TimeOfCall(const v1::GetLinkTimesRequest& request) {
  const auto response = LinksOf(request);
  EXPECT_THAT(response, IsOk());
  if (!response.ok() || response->exchanges().empty()) return {};
  const v1::LinkTime& time = response->exchanges(0).times(0);
  return {time, SourceAt(response->sources(), time.source_number())};
}

// aiconfigurator's table of H100, NCCL 2.29.2: 1 MiB among eight took 25.4 us, each rank moving 2 x
// 7 / 8 of it.
TEST(LinkTimesAnswer, OfAPublishedSizeAreItsTime) {
  const auto [time, source] =
      TimeOfCall(OneCall(Among("dgx-h100", 1, 8), v1::COLLECTIVE_OPERATION_ALL_REDUCE, kLinkMiB));
  EXPECT_NEAR(time.duration_seconds().expected(), 25.4e-6, 1e-12);
  EXPECT_NEAR(time.bytes_per_second(), 1048576 / 25.4e-6, 1);
  EXPECT_NEAR(time.bus_bytes_per_second(), 1.75 * 1048576 / 25.4e-6, 2);
  EXPECT_EQ(time.basis(), v1::KERNEL_BASIS_MEASURED);
  EXPECT_EQ(time.source(), v1::RATE_SOURCE_REFERENCE);
  EXPECT_THAT(source, AllOf(HasSubstr("aiconfigurator"), HasSubstr("2.29.2 of h100-sxm")));
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
  const auto [time, source] =
      TimeOfCall(OneCall(Among("dgx-h100", 4, 8), v1::COLLECTIVE_OPERATION_ALL_REDUCE, kLinkMiB));
  EXPECT_THAT(source,
              AllOf(HasSubstr("network: dgx-h100: docs.nvidia.com"), HasSubstr("aiconfigurator")));
}

// 0.82 (0.75 to 0.89) of PCIe 5's 63 GB/s after 5 us.
TEST(LinkTimesAnswer, OfHostCopiesAreTheBuss) {
  v1::GetLinkTimesRequest request = Among("dgx-h100", 1, 8);
  request.add_sizes_bytes(1'000'000'000);
  request.set_host_copies(true);
  const auto response = LinksOf(request);
  ASSERT_THAT(response, IsOk());
  ASSERT_EQ(response->host_copies_size(), 1);
  const v1::LinkTime& copy = response->host_copies(0);
  EXPECT_NEAR(copy.duration_seconds().expected(), 5e-6 + 1 / (0.82 * 63), 1e-12);
  EXPECT_NEAR(copy.duration_seconds().low(), 5e-6 + 1 / (0.89 * 63), 1e-12);
  EXPECT_NEAR(copy.duration_seconds().high(), 5e-6 + 1 / (0.75 * 63), 1e-12);
  EXPECT_FALSE(copy.has_bus_bytes_per_second());
  EXPECT_EQ(copy.source(), v1::RATE_SOURCE_DATASHEET);
  EXPECT_THAT(SourceAt(response->sources(), copy.source_number()), HasSubstr("DGX BasePOD"));
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

TEST(LinkTimesAnswer, AllFaultsComeTogether) {
  v1::GetLinkTimesRequest request = Among("hgx-h100", 2, 9);
  request.mutable_nodes()->mutable_device()->set_accelerator("a100-sxm-80");
  request.add_operations(v1::COLLECTIVE_OPERATION_ALL_REDUCE);
  request.add_operations(v1::COLLECTIVE_OPERATION_UNSPECIFIED);
  request.add_operations(static_cast<v1::CollectiveOperation>(99));
  for (const int64_t size : {int64_t{1}, int64_t{0}, kLinkMiB, int64_t{1'000'000'000'000'001}}) {
    request.add_sizes_bytes(size);
  }
  EXPECT_THAT(LinksOf(request),
              NamesFields(ElementsAre("operations[1]", "operations[2]", "sizes_bytes[1]",
                                      "sizes_bytes[3]", "nodes.device.accelerator",
                                      "nodes.ranks_per_node", "nodes.network")));
}

TEST(LinkTimesAnswer, RefuseListsThatAreTooLong) {
  v1::GetLinkTimesRequest request = Among("dgx-h100", 1, 8);
  for (int i = 0; i < 7; ++i) request.add_operations(v1::COLLECTIVE_OPERATION_ALL_REDUCE);
  for (int i = 0; i < 65; ++i) request.add_sizes_bytes(kLinkMiB);
  EXPECT_THAT(LinksOf(request), NamesFields(ElementsAre("operations", "sizes_bytes")));
}

TEST(LinkTimesAnswer, RefuseWhatNamesNoKindOfServerOrSeveral) {
  EXPECT_THAT(LinksOf({}), NamesFields(ElementsAre("nodes.node_type")));
  v1::GetLinkTimesRequest request;
  request.mutable_nodes()->mutable_device()->set_accelerator("h100-sxm");
  const auto several = LinksOf(request);
  EXPECT_THAT(several, NamesFields(ElementsAre("nodes.node_type")));
  EXPECT_THAT(std::string(several.status().message()),
              AllOf(HasSubstr("dgx-h100"), HasSubstr("hgx-h100")));
  request.mutable_nodes()->mutable_device()->set_accelerator("mi300x");
  EXPECT_THAT(LinksOf(request), NamesFields(ElementsAre("nodes.device.accelerator")));
  request.mutable_nodes()->mutable_device()->set_accelerator("h1000");
  EXPECT_THAT(LinksOf(request), Fails(absl::StatusCode::kNotFound, "GPU_UNKNOWN"));
  EXPECT_THAT(LinksOf(Among("dgx-h1000", 1, 8)),
              Fails(absl::StatusCode::kNotFound, "NODE_TYPE_UNKNOWN"));
}

}  // namespace
}  // namespace sextant::server
