// The ranks of a layout on their nodes, and the time of each exchange on the links that it crosses.
#ifndef SEXTANT_ENGINE_TIME_EXCHANGE_PRICER_H_
#define SEXTANT_ENGINE_TIME_EXCHANGE_PRICER_H_

#include <cstdint>

#include "engine/base/units.h"
#include "engine/hardware/links/collective.h"
#include "engine/hardware/links/link_times.h"
#include "engine/hardware/links/network.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/model/trace/trace.h"

namespace sextant {

// Ranks of a group, `stride` apart.
struct RankStride {
  int64_t size = 1;
  int64_t stride = 1;
};

// The nodes of such a group where ranks fill nodes of `node_devices` in their order, and groups
// start at multiples of size x stride. Of groups that differ, the one on the most nodes.
//   within a node   size x stride <= node_devices, which it divides
//   else            floor(node_devices / stride) ranks of each node, at least one
RankGroup NodesOf(const RankStride& ranks, int64_t node_devices);

// The devices of each node that a job of `device_count` uses: all of them, or the most that divide
// the job evenly (64 of a rack of 72).
int64_t NodeDevicesOf(int64_t device_count, int64_t node_devices);

// The groups of a layout, innermost first: tensor, context, data, pipeline; of experts: expert
// tensor, expert, expert data, pipeline.
// Source: the default order tp-cp-ep-dp-pp of NVIDIA/Megatron-LM,
// megatron/core/parallel_state.py, initialize_model_parallel().
struct LayoutRanks {
  RankStride tensor;
  RankStride context;
  RankStride expert_tensor;
  RankStride expert;
  RankStride pipeline;
  // Ranks that divide a shard of dense parameters, of expert parameters, and the copies of each.
  RankStride shard;
  RankStride expert_shard;
  RankStride copies;
  RankStride expert_copies;
};
LayoutRanks RanksOf(const MemoryJob& job);

// The time of exchanges. A group crosses nodes or stays in one.
struct ExchangeTime {
  Seconds time = {};
  bool crosses = false;

  ExchangeTime Times(double count) const { return {time * count, crosses}; }
};

class ExchangePricer {
 public:
  // `links` outlives this, and has a network where the job's ranks fill several nodes.
  // `one_copy_per_node`: a token crosses the network once for each node that has some of its
  // experts, and a node's link once for each such rank.
  ExchangePricer(const LinkTimes& links, const MemoryJob& job, bool one_copy_per_node);

  const LayoutRanks& ranks() const { return ranks_; }
  // Nodes of the job, and its devices in each.
  int64_t node_count() const { return node_count_; }
  int64_t node_devices() const { return node_devices_; }

  // One launch of a collective of a trace. `experts` are those of an all-to-all; else null.
  ExchangeTime TimeOf(const CollectiveWork& work, const ExpertsSpec* experts) const;

  // One call of `op` among `group`, of Collective::bytes.
  ExchangeTime TimeOf(CollectiveOp op, double bytes, const RankStride& group) const;

  // One send of `bytes` to the next stage: across nodes where any two stages are on two.
  ExchangeTime Send(double bytes) const;

 private:
  ExchangeTime Among(CollectiveOp op, double bytes, const RankGroup& nodes) const;
  const RankStride& GroupOf(TraceGroup group) const;
  // All-to-all of tokens that go once to each node and rank.
  ExchangeTime OneCopy(double bytes, const RankStride& group, const ExpertsSpec& experts) const;

  const LinkTimes& links_;
  LayoutRanks ranks_;
  int64_t node_devices_;
  int64_t node_count_;
  bool one_copy_per_node_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_TIME_EXCHANGE_PRICER_H_
