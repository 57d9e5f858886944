#include "engine/memory/state/state_ranks.h"

namespace sextant {

StateRanks StateRanksOf(const ParallelLayout& layout, const StateSharding& sharding,
                        int64_t context_parallel_size) {
  const int64_t all = sharding.data_parallel_size * context_parallel_size;
  const int64_t group = sharding.shard_group_size == 0 ? all : sharding.shard_group_size;
  const int64_t holders = layout.expert_parallel_size * ExpertTensorParallelSize(layout);
  return {.dense = group, .expert = group * layout.tensor_parallel_size / holders};
}

}  // namespace sextant
