// Among how many ranks data parallelism divides what it shares out.
#ifndef SEXTANT_ENGINE_MEMORY_STATE_STATE_RANKS_H_
#define SEXTANT_ENGINE_MEMORY_STATE_STATE_RANKS_H_

#include <cstdint>

#include "engine/memory/state/state_spec.h"
#include "engine/model/sharding/parallel_layout.h"
#include "engine/model/sharding/shard_rule.h"

namespace sextant {

struct StateRanks {
  int64_t dense = 1;
  int64_t expert = 1;

  int64_t of(ShardGroup group) const { return group == ShardGroup::kDense ? dense : expert; }
};

// With d data, c context and t tensor parallel ranks a stage has d c t GPUs. Dense parameters are
// divided among the d c that hold the same part of them, or shard_group_size of these. Routed
// experts are held by x x_t ranks, so that the same GPUs hold each part
//   shard group x t / (x x_t)
// times, among which it is divided. CheckStateSpec() has passed: that is a whole number.
StateRanks StateRanksOf(const ParallelLayout& layout, const StateSharding& sharding,
                        int64_t context_parallel_size);

// What is divided among them.
inline bool DividesOptimizer(const StateSharding& s) { return s.zero_stage != ZeroStage::kNone; }
inline bool DividesGradients(const StateSharding& s) {
  return s.zero_stage == ZeroStage::kGradients || s.zero_stage == ZeroStage::kParameters;
}
inline bool DividesParameters(const StateSharding& s) {
  return s.zero_stage == ZeroStage::kParameters;
}

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_STATE_STATE_RANKS_H_
