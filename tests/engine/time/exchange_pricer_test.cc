// Ranks on nodes, and exchanges on the links that they cross.
#include "engine/time/exchange_pricer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

const NodeType& Node(absl::string_view name) { return **FindNodeType(name); }

LinkTimes LinksOf(absl::string_view name) {
  const NodeType& node = Node(name);
  absl::optional<Network> network;
  if (node.network_rate) network = ResolveNetwork(node, 2, {}).value();
  return LinkTimes(&node, {}, network);
}

void ExpectNodes(const RankStride& ranks, int64_t node_devices, int64_t nodes, int64_t each) {
  const RankGroup group = NodesOf(ranks, node_devices);
  EXPECT_EQ(group.node_count, nodes) << ranks.size << " ranks, " << ranks.stride << " apart";
  EXPECT_EQ(group.ranks_per_node, each) << ranks.size << " ranks, " << ranks.stride << " apart";
}

TEST(NodesOf, FillsNodesInTheOrderOfRanks) {
  ExpectNodes({1, 1}, 8, 1, 1);
  ExpectNodes({8, 1}, 8, 1, 8);
  ExpectNodes({4, 2}, 8, 1, 4);
  ExpectNodes({16, 1}, 8, 2, 8);
  ExpectNodes({16, 2}, 8, 4, 4);
  ExpectNodes({4, 8}, 8, 4, 1);
  ExpectNodes({4, 32}, 8, 4, 1);
  // Groups of six among eight devices: the second one is on two nodes.
  ExpectNodes({6, 1}, 8, 2, 3);
  ExpectNodes({64, 1}, 64, 1, 64);
}

TEST(NodeDevicesOf, IsTheMostThatDividesTheJob) {
  EXPECT_EQ(NodeDevicesOf(4, 8), 4);
  EXPECT_EQ(NodeDevicesOf(64, 8), 8);
  EXPECT_EQ(NodeDevicesOf(12, 8), 6);
  EXPECT_EQ(NodeDevicesOf(512, 72), 64);
  EXPECT_EQ(NodeDevicesOf(144, 72), 72);
  EXPECT_EQ(NodeDevicesOf(1, 8), 1);
}

// TP4 CP2 PP2 DP16 of 256 devices, experts over EP8 with one rank each; shards of ZeRO over 8.
MemoryJob ExchangeJob() {
  MemoryJob job;
  job.layout.tensor_parallel_size = 4;
  job.layout.pipeline_parallel_size = 2;
  job.layout.expert_parallel_size = 8;
  job.layout.expert_tensor_parallel_size = 1;
  job.batch.context_parallel_size = 2;
  job.state.sharding.data_parallel_size = 16;
  job.state.sharding.zero_stage = ZeroStage::kParameters;
  job.state.sharding.shard_group_size = 8;
  return job;
}

void ExpectStride(const RankStride& ranks, int64_t size, int64_t stride) {
  EXPECT_EQ(ranks.size, size);
  EXPECT_EQ(ranks.stride, stride);
}

TEST(RanksOf, NestsGroups) {
  const LayoutRanks ranks = RanksOf(ExchangeJob());
  ExpectStride(ranks.tensor, 4, 1);
  ExpectStride(ranks.context, 2, 4);
  ExpectStride(ranks.shard, 8, 4);
  ExpectStride(ranks.copies, 4, 32);
  ExpectStride(ranks.pipeline, 2, 128);
  ExpectStride(ranks.expert, 8, 1);
  // 128 devices of a stage hold each expert 16 times; a shard's 8 x 4 devices four times.
  ExpectStride(ranks.expert_shard, 4, 8);
  ExpectStride(ranks.expert_copies, 4, 32);
}

TEST(ExchangePricer, PricesTheLinkThatIsCrossed) {
  const LinkTimes links = LinksOf("dgx-h100");
  const ExchangePricer pricer(links, ExchangeJob(), false);
  EXPECT_EQ(pricer.node_count(), 32);
  const double bytes = 64e6;
  const ExchangeTime tensor =
      pricer.TimeOf({CollectiveKind::kAllGather, TraceGroup::kTensor, bytes}, nullptr);
  EXPECT_FALSE(tensor.crosses);
  EXPECT_EQ(tensor.time.value(),
            links.TimeOf(CollectiveOp::kAllGather, Bytes(64'000'000), {1, 4})->expected.value());
  const ExchangeTime shard = pricer.TimeOf(CollectiveOp::kReduceScatter, bytes, {8, 4});
  EXPECT_TRUE(shard.crosses);
  EXPECT_EQ(
      shard.time.value(),
      links.TimeOf(CollectiveOp::kReduceScatter, Bytes(64'000'000), {4, 2})->expected.value());
  // 400 Gb/s: 50e9 bytes a second.
  EXPECT_GT(shard.time.value(), bytes * 3 / 4 / 2 / 50e9);
  const ExchangeTime ring =
      pricer.TimeOf({CollectiveKind::kRing, TraceGroup::kContext, bytes}, nullptr);
  EXPECT_FALSE(ring.crosses);
  EXPECT_GT(ring.time.value(), bytes / 450e9);
  EXPECT_TRUE(pricer.Send(bytes).crosses);
  EXPECT_GT(pricer.Send(bytes).time.value(), bytes / 50e9);
}

TEST(ExchangePricer, IsNothingForOneRank) {
  const LinkTimes links = LinksOf("dgx-h100");
  const ExchangePricer pricer(links, MemoryJob{}, false);
  EXPECT_EQ(pricer.TimeOf(CollectiveOp::kAllReduce, 1e9, {1, 1}).time.value(), 0);
  EXPECT_EQ(pricer.Send(1e9).time.value(), 0);
}

// 64 ranks on 8 nodes, 8 experts a token: 7 (1 - (7/8)^8) = 4.595 nodes get a copy, in place of
// 7 of 8 copies.
TEST(ExchangePricer, SendsACopyForEachNode) {
  MemoryJob job;
  job.layout.expert_parallel_size = 64;
  job.layout.expert_tensor_parallel_size = 1;
  job.state.sharding.data_parallel_size = 64;
  const LinkTimes links = LinksOf("dgx-h100");
  const CollectiveWork work = {CollectiveKind::kAllToAll, TraceGroup::kExpert, 8 * 32e6};
  ExpertsSpec experts = {.expert_count = 256, .experts_per_token = 8};
  const double each = ExchangePricer(links, job, false).TimeOf(work, &experts).time.value();
  const double once = ExchangePricer(links, job, true).TimeOf(work, &experts).time.value();
  const double copies = 7 * (1 - std::pow(7.0 / 8, 8));
  EXPECT_NEAR(once, 32e6 * copies / (50e9 * kNetworkRateShare), 0.05 * once);
  // On 4 of 8 nodes: 7/8 of 4 (1 - (3/4)^8).
  experts.group_count = 8;
  experts.groups_per_token = 4;
  const double limited = ExchangePricer(links, job, true).TimeOf(work, &experts).time.value();
  const double fewer = 3.5 * (1 - std::pow(0.75, 8));
  EXPECT_NEAR(limited, 32e6 * fewer / (50e9 * kNetworkRateShare), 0.05 * limited);
  // Groups of two nodes each: 4 of them are all 8.
  experts.group_count = 4;
  EXPECT_EQ(ExchangePricer(links, job, true).TimeOf(work, &experts).time.value(), once);
  EXPECT_NEAR(each, 32e6 * 7 / (50e9 * kNetworkRateShare), 0.1 * each);
}

// Heads are not tokens: a layer with experts exchanges them as any other.
TEST(ExchangePricer, HeadsAreNotSentOnceANode) {
  MemoryJob job;
  job.layout.expert_parallel_size = 16;
  job.layout.expert_tensor_parallel_size = 1;
  job.batch.context_parallel_size = 16;
  const LinkTimes links = LinksOf("dgx-h100");
  const ExpertsSpec experts = {.expert_count = 256, .experts_per_token = 8};
  const CollectiveWork work = {CollectiveKind::kAllToAll, TraceGroup::kContext, 64e6};
  EXPECT_EQ(ExchangePricer(links, job, true).TimeOf(work, &experts).time.value(),
            ExchangePricer(links, job, false).TimeOf(work, nullptr).time.value());
}

// Eight experts of a token are on 8 (1 - (7/8)^8) = 5.25 of eight ranks.
TEST(ExchangePricer, SendsACopyForEachRank) {
  MemoryJob job;
  job.layout.expert_parallel_size = 8;
  job.layout.expert_tensor_parallel_size = 1;
  job.state.sharding.data_parallel_size = 8;
  const LinkTimes links = LinksOf("dgx-h100");
  const ExpertsSpec experts = {.expert_count = 256, .experts_per_token = 8};
  const double copy = 256e6;
  const CollectiveWork work = {CollectiveKind::kAllToAll, TraceGroup::kExpert, 8 * copy};
  const CollectiveWork fewer = {CollectiveKind::kAllToAll, TraceGroup::kExpert,
                                std::round(8 * (1 - std::pow(7.0 / 8, 8)) * copy)};
  const double once = ExchangePricer(links, job, true).TimeOf(work, &experts).time.value();
  const double same = ExchangePricer(links, job, false).TimeOf(fewer, &experts).time.value();
  EXPECT_NEAR(once, same, 1e-6 * same);
}

}  // namespace
}  // namespace sextant
