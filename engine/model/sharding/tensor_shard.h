// What one GPU holds of a parameter tensor.
#ifndef SEXTANT_ENGINE_MODEL_SHARDING_TENSOR_SHARD_H_
#define SEXTANT_ENGINE_MODEL_SHARDING_TENSOR_SHARD_H_

#include <cstdint>

#include "engine/model/sharding/parallel_layout.h"
#include "engine/model/sharding/shard_rule.h"

namespace sextant {

// The part of a tensor of one layer that a rank holds. Each rank of the group holds as much:
// elements() x ranks == whole tensor's elements x holders.
struct TensorShard {
  ShardGroup group = ShardGroup::kDense;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t copies = 0;
  int64_t ranks = 1;    // of the group
  int64_t holders = 1;  // ranks of the group that hold the same element

  int64_t elements() const { return rows * columns * copies; }
};

// The shard of `tensor`, one of WeightsOf(spec), under `layout`; CheckArchitecture() and
// CheckLayout() have passed both. Copies whose size doesn't divide by the ranks, but whose sum
// does, are cut as one, as Megatron-LM holds shared experts.
TensorShard ShardOf(const ArchitectureSpec& spec, const WeightTensor& tensor,
                    const ParallelLayout& layout);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_SHARDING_TENSOR_SHARD_H_
