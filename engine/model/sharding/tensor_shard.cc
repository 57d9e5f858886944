#include "engine/model/sharding/tensor_shard.h"

#include <algorithm>

namespace sextant {
namespace {

// How many ways the axis of a tensor is cut; `attention` is the tensor's, if it is of any.
int64_t PartsOf(ShardAxis axis, const AttentionSpec* attention, const ParallelLayout& layout,
                int64_t ranks) {
  if (axis == ShardAxis::kNone) return 1;
  if (axis != ShardAxis::kKeyValueRows || layout.split_key_value_heads) return ranks;
  return std::min(ranks, attention->key_value_head_count);
}

}  // namespace

TensorShard ShardOf(const ArchitectureSpec& spec, const WeightTensor& tensor,
                    const ParallelLayout& layout) {
  const ShardRule rule = ShardRuleOf(spec, tensor);
  const bool expert = rule.group == ShardGroup::kExpert;
  const int64_t tensor_ranks =
      expert ? ExpertTensorParallelSize(layout) : layout.tensor_parallel_size;
  const int64_t expert_ranks = expert ? layout.expert_parallel_size : 1;
  const int64_t parts = PartsOf(rule.axis, AttentionOf(spec, tensor), layout, tensor_ranks);
  TensorShard out = {.group = rule.group,
                     .rows = tensor.rows,
                     .columns = tensor.columns,
                     .copies = tensor.copies / expert_ranks,
                     .ranks = tensor_ranks * expert_ranks,
                     .holders = tensor_ranks / parts};
  int64_t& axis = rule.axis == ShardAxis::kColumns ? out.columns : out.rows;
  if (axis % parts != 0) {
    axis *= out.copies;
    out.copies = 1;
  }
  axis /= parts;
  return out;
}

}  // namespace sextant
