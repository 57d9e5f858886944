#include "engine/model/sharding/tensor_shard.h"

#include <algorithm>

namespace sextant {
namespace {

constexpr ShardRule kReplicated = {};

// Latents and their norms are computed whole on every rank, and expanded by heads.
ShardAxis AttentionAxis(const AttentionSpec& attention, absl::string_view name) {
  if (name == "query" || name == "query_up" || name == "key_value_up" || name == "sinks" ||
      name == "output_gate") {
    return ShardAxis::kRows;
  }
  if (name == "key" || name == "value") return ShardAxis::kKeyValueRows;
  if (name == "output") return ShardAxis::kColumns;
  const bool all_heads = attention.query_key_norm == QueryKeyNorm::kAllHeads;
  if (name == "query_norm" && all_heads) return ShardAxis::kRows;
  if (name == "key_norm" && all_heads) return ShardAxis::kKeyValueRows;
  return ShardAxis::kNone;
}

ShardAxis FeedForwardAxis(absl::string_view name) {
  if (name == "gate" || name == "up") return ShardAxis::kRows;
  if (name == "down") return ShardAxis::kColumns;
  return ShardAxis::kNone;  // the gate of shared experts
}

ShardAxis BlockAxis(MatrixSplit split) {
  if (split == MatrixSplit::kNone) return ShardAxis::kNone;
  return split == MatrixSplit::kRows ? ShardAxis::kRows : ShardAxis::kColumns;
}

// The rule of a matrix, or of the matrix that a bias or an adapter belongs to.
ShardRule MatrixRule(const ArchitectureSpec& spec, const WeightTensor& t) {
  if (t.block.has_value()) return {.axis = BlockAxis(t.block->split)};
  if (t.module == "token_embedding" || t.module == "output_head") {
    return {.axis = ShardAxis::kRows};
  }
  if (const AttentionSpec* attention = AttentionOf(spec, t); attention != nullptr) {
    return {.axis = AttentionAxis(*attention, t.name)};
  }
  if (t.module == "feed_forward" || t.module == "shared_experts") {
    return {.axis = FeedForwardAxis(t.name)};
  }
  if (t.module == "experts") {
    return {.axis = FeedForwardAxis(t.name), .group = ShardGroup::kExpert};
  }
  if (t.module == "projection") return {.axis = ShardAxis::kRows};
  return kReplicated;
}

// The number of parts of a tensor's axis; `attention` is the tensor's, if any.
int64_t PartsOf(ShardAxis axis, const AttentionSpec* attention, const ParallelLayout& layout,
                int64_t ranks) {
  if (axis == ShardAxis::kNone) return 1;
  if (axis != ShardAxis::kKeyValueRows || layout.split_key_value_heads) return ranks;
  return std::min(ranks, attention->key_value_head_count);
}

}  // namespace

const AttentionSpec* AttentionOf(const ArchitectureSpec& spec, const WeightTensor& tensor) {
  if (tensor.layer_kind < 0) return nullptr;
  const LayerSpec& layer = spec.layer_kinds[static_cast<size_t>(tensor.layer_kind)];
  if (tensor.module == "attention") return &*layer.attention;
  if (tensor.module == "cross_attention") return &*layer.cross_attention;
  return nullptr;
}

// A bias is divided like the rows of its matrix: where columns are divided, it is added to their
// sum, and every rank has it. The adapter matrix that shares the divided axis is divided likewise;
// the other one is whole.
// Source: Shoeybi et al. 2019, arXiv 1909.08053, section 3.
ShardRule ShardRuleOf(const ArchitectureSpec& spec, const WeightTensor& tensor) {
  ShardRule rule = MatrixRule(spec, tensor);
  const bool by_columns = rule.axis == ShardAxis::kColumns;
  const bool has_axis = tensor.role == WeightRole::kWeight ||
                        (tensor.role == WeightRole::kAdapterDown ? by_columns : !by_columns);
  if (!has_axis) rule.axis = ShardAxis::kNone;
  return rule;
}

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
