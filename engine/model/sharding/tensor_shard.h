// One GPU's part of a parameter tensor: the axis that tensor parallelism divides, and the ranks.
#ifndef SEXTANT_ENGINE_MODEL_SHARDING_TENSOR_SHARD_H_
#define SEXTANT_ENGINE_MODEL_SHARDING_TENSOR_SHARD_H_

#include <cstdint>

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/sharding/parallel_layout.h"

namespace sextant {

// The ranks that divide a tensor, which determine the ranks over which data parallelism can shard
// it: those of tensor parallelism, or of expert and expert tensor parallelism.
enum class ShardGroup { kDense, kExpert };
inline constexpr int kShardGroupCount = 2;

enum class ShardAxis {
  kNone,          // every tensor parallel rank holds all of it
  kRows,          // divided by outputs: column-parallel in Megatron's terms
  kColumns,       // divided by inputs: row-parallel
  kKeyValueRows,  // rows by key and value heads, which ranks may share
};

struct ShardRule {
  ShardAxis axis = ShardAxis::kNone;
  ShardGroup group = ShardGroup::kDense;

  friend bool operator==(const ShardRule&, const ShardRule&) = default;
};

// The rule of `tensor`, one of WeightsOf(spec). docs/memory.md, "Sharding", has the table and its
// sources.
ShardRule ShardRuleOf(const ArchitectureSpec& spec, const WeightTensor& tensor);

// The attention that `tensor` belongs to; null: none.
const AttentionSpec* AttentionOf(const ArchitectureSpec& spec, const WeightTensor& tensor);

// A rank's part of a tensor of one layer. All ranks of the group hold equal amounts: elements() x
// ranks == whole tensor's elements x holders.
struct TensorShard {
  ShardGroup group = ShardGroup::kDense;
  int64_t rows = 0;
  int64_t columns = 0;
  int64_t copies = 0;
  int64_t ranks = 1;    // of the group
  int64_t holders = 1;  // ranks of the group that hold the same element

  int64_t elements() const { return rows * columns * copies; }
};

// The shard of `tensor`, one of WeightsOf(spec), under `layout`. `spec` and `layout` have passed
// CheckArchitecture() and CheckLayout(). Copies whose size isn't divisible by the ranks, but whose
// sum is, are divided as one, as Megatron-LM holds shared experts.
TensorShard ShardOf(const ArchitectureSpec& spec, const WeightTensor& tensor,
                    const ParallelLayout& layout);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_SHARDING_TENSOR_SHARD_H_
