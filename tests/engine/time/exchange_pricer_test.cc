// Ranks on nodes, exchanges on the links that they cross, and steps of runs whose context parallel
// ranks exchange heads, or pass keys and values in a ring.
#include "engine/time/exchange_pricer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "engine/hardware/links/link_times.h"
#include "engine/hardware/reference/reference_collectives.h"
#include "engine/run/plan.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::HasSubstr;

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

// 40 layers of 40 heads of 128, sequences of 8,192 on 64 H100: CP8 DP8, 8 micro-batches.
RunSpec Llama13b() {
  RunSpec run = RunOnH100s("llama-2-13b", 64, 64, 8192);
  run.training.recompute = RecomputePolicy::kNone;
  run.layout->context_parallel_size = 8;
  run.layout->zero_stage = ZeroStage::kOptimizer;
  run.layout->framework = {.kind = Framework::kDeepSpeed, .named = true};
  return run;
}

// The same of another framework's ring, or exchange.
RunSpec Llama13b(ContextParallelKind kind) {
  RunSpec run = Llama13b();
  run.layout->framework = {.kind = Framework::kMegatronLm, .named = true};
  run.layout->context_parallel_kind = kind;
  return run;
}

StepEstimate ExchangedStepOf(const RunSpec& run) {
  return PlannedStep(run).step.value_or(StepPlan()).estimate;
}
double ExchangeSecondsOf(const RunSpec& run) {
  return ExchangedStepOf(run).seconds.expected.value();
}
double ExchangeOf(const RunSpec& run) {
  return ExchangedStepOf(run).of(StepCause::kContextExchange);
}

constexpr auto kRing = ContextParallelKind::kRing;
constexpr auto kAllToAll = ContextParallelKind::kAllToAll;

// In each of 8 micro-batches and 40 layers: queries, keys, values and output of 1,024 tokens x
// 5,120 features in 16 bits among the 8 devices of a server, forward and backward; of Transformer
// Engine the output once more. Attention waits for all of them.
TEST(ContextExchange, OfHeadsShowsInFull) {
  const NodeType& node = **FindNodeType("dgx-h100");
  const auto network = ResolveNetwork(node, 8, {});
  ASSERT_THAT(network, IsOk());
  const LinkTimes links(&node, {ReferenceCollectives("h100-sxm")}, *network);
  const double each =
      links.TimeOf(CollectiveOp::kAllToAll, Bytes(2 * 1024 * 5120), {1, 8})->expected.value();
  EXPECT_NEAR(ExchangeOf(Llama13b()), 8 * 40 * 8 * each, 1e-9);
  EXPECT_NEAR(ExchangeOf(Llama13b(kAllToAll)), 8 * 40 * 9 * each, 1e-9);
}

TEST(ContextExchange, IsTheFrameworks) {
  for (int i = 0; i < kFrameworkCount; ++i) {
    const FrameworkTraits& traits = TraitsOf(static_cast<Framework>(i));
    EXPECT_EQ(traits.context_parallel_kind.value,
              traits.kind == Framework::kDeepSpeed ? kAllToAll : kRing)
        << traits.title;
  }
  RunSpec run = Llama13b(kRing);
  const double ring = ExchangeSecondsOf(run);
  run.layout->context_parallel_kind.reset();
  EXPECT_EQ(ExchangeSecondsOf(run), ring);
  run = Llama13b();
  const double exchanged = ExchangeSecondsOf(run);
  run.layout->context_parallel_kind = kAllToAll;
  EXPECT_EQ(ExchangeSecondsOf(run), exchanged);
}

// Long sequences hide a ring within a server, and no exchange of heads.
TEST(ContextExchange, OfLongSequencesIsLessInARing) {
  RunSpec ring = Llama13b(kRing);
  RunSpec heads = Llama13b(kAllToAll);
  ring.training.sequence_length = heads.training.sequence_length = 131072;
  EXPECT_EQ(ExchangeOf(ring), 0);
  EXPECT_GT(ExchangeOf(heads), 0);
  EXPECT_LT(ExchangeSecondsOf(ring), ExchangeSecondsOf(heads));
}

// With 32 heads on 32 ranks of four servers a ring sends 31 x 2 parts of N h / P, the exchanges of
// heads 31/32 of 4: over a slow network that decides, since little attention hides either.
TEST(ContextExchange, OfShortSequencesOverASlowNetworkIsLessOfHeads) {
  RunSpec run = Llama13b(kRing);
  run.model.preset = "llama-2-7b";
  run.cluster.node_type = "hgx-h100";
  run.cluster.network.bytes_per_second = 12.5e9;
  run.layout->context_parallel_size = 32;
  const double ring = ExchangeSecondsOf(run);
  EXPECT_GT(ExchangeOf(run), 0);
  run.layout->context_parallel_kind = kAllToAll;
  EXPECT_LT(ExchangeSecondsOf(run), ring);
}

TEST(ContextExchange, IsNeverSlowedByAFasterNetwork) {
  RunSpec run = Llama13b(kAllToAll);
  run.model.preset = "llama-2-7b";
  run.cluster.node_type = "hgx-h100";
  run.layout->context_parallel_size = 32;
  double before = 1e300;
  for (const double rate : {12.5e9, 25e9, 50e9, 100e9}) {
    run.cluster.network.bytes_per_second = rate;
    const double seconds = ExchangeSecondsOf(run);
    EXPECT_LT(seconds, before) << rate;
    before = seconds;
  }
}

TEST(ContextExchange, OfOneRankIsNothing) {
  RunSpec ring = Llama13b(kRing);
  RunSpec heads = Llama13b(kAllToAll);
  ring.layout->context_parallel_size = heads.layout->context_parallel_size = 1;
  EXPECT_EQ(ExchangeSecondsOf(ring), ExchangeSecondsOf(heads));
  EXPECT_EQ(ExchangeOf(heads), 0);
  EXPECT_EQ(PlannedStep(ring).memory_estimate->peak().counted().value(),
            PlannedStep(heads).memory_estimate->peak().counted().value());
}

// Each rank computes an eighth of what one computes of the whole sequence.
TEST(ContextExchange, RanksShareTheFlops) {
  RunSpec run = Llama13b();
  run.options.full = run.options.include_operations = true;
  const double shared = PlannedStep(run).compute->stages[0].flops;
  run.layout->context_parallel_size = 1;
  EXPECT_NEAR(8 * shared / PlannedStep(run).compute->stages[0].flops, 1, 1e-9);
}

TEST(ContextExchange, RefusesWhatFrameworksDoNotHave) {
  constexpr char kField[] = "layout.context_parallel_kind";
  RunSpec run = Llama13b();
  run.layout->context_parallel_kind = kRing;
  EXPECT_THAT(PlanRun(run),
              HasViolation(kField, HasSubstr("whose context parallel ranks exchange heads")));
  run.layout->context_parallel_size = 1;  // without effect
  EXPECT_THAT(PlanRun(run), IsOk());
  run = Llama13b(kAllToAll);
  run.layout->framework.kind = Framework::kTorchtitan;
  run.layout->zero_stage.reset();
  EXPECT_THAT(PlanRun(run), HasViolation(kField, HasSubstr("pass keys and values in a ring")));
  // 8 heads of keys and values on 16 ranks are copied by DeepSpeed alone.
  run = Llama13b(kAllToAll);
  run.model.preset = "llama-3.1-8b";
  run.layout->context_parallel_size = 16;
  EXPECT_THAT(PlanRun(run), HasViolation(kField, HasSubstr("divides the key and value heads")));
  run.layout->framework.kind = Framework::kDeepSpeed;
  EXPECT_THAT(PlanRun(run), IsOk());
  run.layout->framework = {};  // a default refuses nothing
  EXPECT_THAT(PlanRun(run), IsOk());
  // Queries of latent attention are wider than its values.
  run = Llama13b(kAllToAll);
  run.model.preset = "deepseek-v2";
  EXPECT_THAT(PlanRun(run), HasViolation(kField, HasSubstr("of one width")));
  run.layout->context_parallel_kind = kRing;
  EXPECT_THAT(PlanRun(run), IsOk());
}

TEST(ContextExchange, RefusesHeadsThatDoNotDivide) {
  RunSpec run = Llama13b();
  run.layout->context_parallel_size = 16;  // of 40 heads
  EXPECT_THAT(PlanRun(run), HasViolation("layout.context_parallel_size", HasSubstr("write 10")));
  run.layout->context_parallel_size = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(PlanRun(run),
              HasViolation("layout.context_parallel_size", HasSubstr("must be 1 to 65536")));
}

TEST(ContextExchange, AMeasuredStepIsOfItsKind) {
  RunSpec run = Llama13b(kAllToAll);
  run.measured_step = MeasuredStep{.seconds = 10, .layout = *run.layout};
  run.measured_step->layout.context_parallel_kind = kRing;
  EXPECT_FALSE(PlannedStep(run).step->calibration->applied);
  run.measured_step->layout.context_parallel_kind = kAllToAll;
  EXPECT_TRUE(PlannedStep(run).step->calibration->applied);
}

}  // namespace
}  // namespace sextant
