// Which axis of a parameter tensor tensor parallelism cuts, and among which ranks.
#ifndef SEXTANT_ENGINE_MODEL_SHARDING_SHARD_RULE_H_
#define SEXTANT_ENGINE_MODEL_SHARDING_SHARD_RULE_H_

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

// Ranks that share a tensor, and so the ranks over which data parallelism can shard it: those of
// tensor parallelism, or of expert and expert tensor parallelism.
enum class ShardGroup { kDense, kExpert };
inline constexpr int kShardGroupCount = 2;

enum class ShardAxis {
  kNone,          // every rank of tensor parallelism holds all of it
  kRows,          // outputs are cut: a column-parallel matrix in Megatron's words
  kColumns,       // inputs are cut: a row-parallel matrix
  kKeyValueRows,  // rows by heads of keys and values, of which ranks may share one
};

struct ShardRule {
  ShardAxis axis = ShardAxis::kNone;
  ShardGroup group = ShardGroup::kDense;

  friend bool operator==(const ShardRule&, const ShardRule&) = default;
};

// The rule of `tensor`, one of WeightsOf(spec). docs/sharding.md has the table and its sources.
ShardRule ShardRuleOf(const ArchitectureSpec& spec, const WeightTensor& tensor);

// The attention that `tensor` is of; null where it is of none.
const AttentionSpec* AttentionOf(const ArchitectureSpec& spec, const WeightTensor& tensor);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_SHARDING_SHARD_RULE_H_
