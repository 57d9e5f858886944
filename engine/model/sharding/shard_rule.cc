#include "engine/model/sharding/shard_rule.h"

namespace sextant {
namespace {

constexpr ShardRule kReplicated = {};

// Latents and their norms are computed whole on every rank, and expanded by heads.
ShardAxis AttentionAxis(const AttentionSpec& attention, absl::string_view name) {
  if (name == "query" || name == "query_up" || name == "key_value_up" || name == "sinks") {
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

// Of the matrix that a tensor is, or that it is a bias or an adapter of.
ShardRule MatrixRule(const ArchitectureSpec& spec, const WeightTensor& t) {
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

}  // namespace

const AttentionSpec* AttentionOf(const ArchitectureSpec& spec, const WeightTensor& tensor) {
  if (tensor.layer_kind < 0) return nullptr;
  const LayerSpec& layer = spec.layer_kinds[static_cast<size_t>(tensor.layer_kind)];
  if (tensor.module == "attention") return &*layer.attention;
  if (tensor.module == "cross_attention") return &*layer.cross_attention;
  return nullptr;
}

// A bias goes with the rows of its matrix: where columns are cut, it is added to their sum, and
// every rank has it. Of adapters, the one that shares the cut axis is cut likewise; the other has
// the rank's axis and the whole of the other one.
// Source: Shoeybi et al. 2019, arXiv 1909.08053, section 3.
ShardRule ShardRuleOf(const ArchitectureSpec& spec, const WeightTensor& tensor) {
  ShardRule rule = MatrixRule(spec, tensor);
  const bool by_columns = rule.axis == ShardAxis::kColumns;
  const bool has_axis = tensor.role == WeightRole::kWeight ||
                        (tensor.role == WeightRole::kAdapterDown ? by_columns : !by_columns);
  if (!has_axis) rule.axis = ShardAxis::kNone;
  return rule;
}

}  // namespace sextant
