// Prices an exchange in two steps: the nodes of the group, from the size and stride of its ranks
// (NodesOf()), then the time that LinkTimes has for that many ranks on that many nodes. A ring is n
// - 1 sends. An all-to-all of tokens with one copy a node is the longer of two, among nodes and
// within one, with the expected number of distinct places that k experts are on (PlacesReached()).
// Ranks are never enumerated, so the cost of a price does not depend on their number.
#include "engine/time/exchange_pricer.h"

#include <algorithm>
#include <cmath>

#include "engine/memory/state/state_rules.h"

namespace sextant {
namespace {

// The most that LinkTimes prices.
constexpr double kMaxExchangeBytes = 1e18;

CollectiveOp OpOf(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::kAllGather:
      return CollectiveOp::kAllGather;
    case CollectiveKind::kReduceScatter:
      return CollectiveOp::kReduceScatter;
    case CollectiveKind::kAllReduce:
      return CollectiveOp::kAllReduce;
    case CollectiveKind::kAllToAll:
      return CollectiveOp::kAllToAll;
    case CollectiveKind::kRing:
      return CollectiveOp::kSendReceive;
  }
  return CollectiveOp::kAllReduce;
}

// The nodes, or ranks, of n that have some of a token's k experts, on average: m (1 - (1 - 1 /
// m)^k) where each expert is equally likely and on m of the n: all, or those of M of G groups,
// whose experts are on M max(1, n / G). Source: deepseek-ai/DeepEP, README and
// csrc/kernels/layout.cu (is_token_in_rank); DeepSeek-AI 2024 (arXiv 2412.19437) section 2.1.2; the
// mean number of occupied bins of k balls in m.
double PlacesReached(int64_t places, const ExpertsSpec& experts) {
  const auto n = static_cast<double>(places);
  const auto k = static_cast<double>(std::max<int64_t>(1, experts.experts_per_token));
  double reached = n;
  if (experts.group_count > 0) {
    const double each = std::max(1.0, n / static_cast<double>(experts.group_count));
    reached = std::min(n, static_cast<double>(experts.groups_per_token) * each);
  }
  return reached * (1 - std::pow(1 - 1 / reached, k));
}

}  // namespace

RankGroup NodesOf(const RankStride& ranks, int64_t node_devices) {
  if (ranks.size == 1) return {};
  const int64_t span = ranks.size * ranks.stride;
  if (span <= node_devices) {
    if (node_devices % span == 0) return {.node_count = 1, .ranks_per_node = ranks.size};
    return {.node_count = 2, .ranks_per_node = (ranks.size + 1) / 2};
  }
  const int64_t each = std::max<int64_t>(1, node_devices / ranks.stride);
  return {.node_count = (ranks.size + each - 1) / each, .ranks_per_node = each};
}

int64_t NodeDevicesOf(int64_t device_count, int64_t node_devices) {
  int64_t out = std::min(device_count, node_devices);
  while (device_count % out != 0) --out;
  return out;
}

LayoutRanks RanksOf(const MemoryJob& job) {
  const ParallelLayout& layout = job.layout;
  const StateSharding& sharding = job.state.sharding;
  const int64_t t = layout.tensor_parallel_size;
  const int64_t c = job.batch.context_parallel_size;
  const int64_t x = layout.expert_parallel_size;
  const int64_t x_t = ExpertTensorParallelSize(layout);
  const int64_t data = c * sharding.data_parallel_size;
  const StateRanks shard = StateRanksOf(layout, sharding, c);
  const int64_t expert_data = std::max<int64_t>(1, data * t / (x * x_t));
  return {.tensor = {t, 1},
          .context = {c, t},
          .expert_tensor = {x_t, 1},
          .expert = {x, x_t},
          .pipeline = {layout.pipeline_parallel_size, t * data},
          .shard = {shard.dense, t},
          .expert_shard = {shard.expert, x * x_t},
          .copies = {data / shard.dense, t * shard.dense},
          .expert_copies = {expert_data / shard.expert, x * x_t * shard.expert}};
}

ExchangePricer::ExchangePricer(const LinkTimes& links, const MemoryJob& job, bool one_copy_per_node)
    : links_(links), ranks_(RanksOf(job)), one_copy_per_node_(one_copy_per_node) {
  const int64_t devices = ranks_.pipeline.size * ranks_.pipeline.stride;
  node_devices_ = NodeDevicesOf(devices, links.node().device_count);
  node_count_ = devices / node_devices_;
}

const RankStride& ExchangePricer::GroupOf(TraceGroup group) const {
  switch (group) {
    case TraceGroup::kTensor:
      return ranks_.tensor;
    case TraceGroup::kContext:
      return ranks_.context;
    case TraceGroup::kExpert:
      return ranks_.expert;
    case TraceGroup::kExpertTensor:
      return ranks_.expert_tensor;
  }
  return ranks_.tensor;
}

ExchangeTime ExchangePricer::Among(CollectiveOp op, double bytes, const RankGroup& nodes) const {
  const Bytes rounded(static_cast<int64_t>(std::min(bytes, kMaxExchangeBytes)));
  const auto time = links_.TimeOf(op, rounded, nodes);
  // The constructor's conditions leave no errors.
  return {time.ok() ? time->expected : Seconds(0), nodes.node_count > 1};
}

ExchangeTime ExchangePricer::TimeOf(CollectiveOp op, double bytes, const RankStride& group) const {
  if (group.size == 1 || bytes <= 0) return {};
  return Among(op, bytes, NodesOf(group, node_devices_));
}

ExchangeTime ExchangePricer::TimeOf(const CollectiveWork& work, const ExpertsSpec* experts) const {
  const RankStride& group = GroupOf(work.group);
  if (work.kind == CollectiveKind::kRing) {
    return TimeOf(CollectiveOp::kSendReceive, work.bytes, group)
        .Times(static_cast<double>(group.size - 1));
  }
  const bool tokens = work.kind == CollectiveKind::kAllToAll && work.group == TraceGroup::kExpert;
  if (tokens && one_copy_per_node_ && experts != nullptr) {
    return group.size == 1 ? ExchangeTime() : OneCopy(work.bytes, group, *experts);
  }
  return TimeOf(OpOf(work.kind), work.bytes, group);
}

// The network carries one copy to each other node, and the node's own link one to each of its
// ranks; both at once.
ExchangeTime ExchangePricer::OneCopy(double bytes, const RankStride& group,
                                     const ExpertsSpec& experts) const {
  const RankGroup nodes = NodesOf(group, node_devices_);
  const double each = bytes / static_cast<double>(std::max<int64_t>(1, experts.experts_per_token));
  const ExchangeTime home =
      Among(CollectiveOp::kAllToAll, each * PlacesReached(group.size, experts),
            {.node_count = 1, .ranks_per_node = nodes.ranks_per_node});
  if (nodes.node_count == 1) return home;
  // An all-to-all of one rank a node sends (n - 1) / n of its buffer.
  const ExchangeTime away =
      Among(CollectiveOp::kAllToAll, each * PlacesReached(nodes.node_count, experts),
            {.node_count = nodes.node_count, .ranks_per_node = 1});
  return away.time > home.time ? away : home;
}

ExchangeTime ExchangePricer::Send(double bytes) const {
  const RankStride& stages = ranks_.pipeline;
  if (stages.size == 1 || bytes <= 0) return {};
  const RankGroup all = NodesOf(stages, node_devices_);
  if (all.node_count == 1) return Among(CollectiveOp::kSendReceive, bytes, {1, 2});
  return Among(CollectiveOp::kSendReceive, bytes, {2, 1});
}

}  // namespace sextant
