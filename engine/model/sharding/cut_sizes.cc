#include "engine/model/sharding/cut_sizes.h"

#include "absl/strings/str_cat.h"

namespace sextant {
namespace {

void AddHeads(const AttentionSpec& attention, const std::string& where, bool split, CutSizes& out) {
  out.push_back({.size = attention.head_count, .what = absl::StrCat(where, "head_count")});
  out.push_back({.size = attention.key_value_head_count,
                 .what = absl::StrCat(where, "key_value_head_count"),
                 .shared = true});
  if (!split || attention.latent.has_value()) return;
  const int64_t heads = attention.key_value_head_count;
  out.push_back({.size = heads * attention.query_key_head_size,
                 .what = absl::StrCat(where, "key_value_head_count x query_key_head_size")});
  out.push_back({.size = heads * attention.value_head_size,
                 .what = absl::StrCat(where, "key_value_head_count x value_head_size")});
}

bool Divides(int64_t ranks, const CutSize& cut) {
  return cut.size % ranks == 0 || (cut.shared && ranks % cut.size == 0);
}

}  // namespace

CutSizes TensorCuts(const ArchitectureSpec& spec, bool split_key_value_heads) {
  CutSizes out;
  for (const LayerSpec& layer : spec.layer_kinds) {
    const std::string where = absl::StrCat(layer.name, ".");
    if (layer.attention.has_value()) {
      AddHeads(*layer.attention, where + "attention.", split_key_value_heads, out);
    }
    if (layer.cross_attention.has_value()) {
      AddHeads(*layer.cross_attention, where + "cross_attention.", split_key_value_heads, out);
    }
    if (layer.feed_forward.has_value()) {
      out.push_back({.size = layer.feed_forward->size, .what = where + "feed_forward.size"});
    }
    if (layer.experts.has_value() && layer.experts->shared_expert_count > 0) {
      out.push_back({.size = layer.experts->shared_expert_count * layer.experts->shared_expert.size,
                     .what = where + "experts.shared_expert.size, all shared experts together"});
    }
  }
  if (spec.multi_token_prediction.has_value()) {
    out.push_back({.size = spec.hidden_size, .what = "hidden_size of multi_token_prediction"});
  }
  return out;
}

CutSizes ExpertCuts(const ArchitectureSpec& spec) {
  CutSizes out;
  for (const LayerSpec& layer : spec.layer_kinds) {
    if (!layer.experts.has_value()) continue;
    out.push_back({.size = layer.experts->expert_count,
                   .what = absl::StrCat(layer.name, ".experts.expert_count")});
  }
  return out;
}

CutSizes ExpertTensorCuts(const ArchitectureSpec& spec) {
  CutSizes out;
  for (const LayerSpec& layer : spec.layer_kinds) {
    if (!layer.experts.has_value()) continue;
    out.push_back({.size = layer.experts->expert.size,
                   .what = absl::StrCat(layer.name, ".experts.expert.size")});
  }
  return out;
}

int64_t FewestKeyValueHeads(const ArchitectureSpec& spec) {
  int64_t fewest = 0;
  for (const LayerSpec& layer : spec.layer_kinds) {
    for (const absl::optional<AttentionSpec>* attention :
         {&layer.attention, &layer.cross_attention}) {
      if (!attention->has_value() || (*attention)->latent.has_value()) continue;
      const int64_t heads = (*attention)->key_value_head_count;
      if (fewest == 0 || heads < fewest) fewest = heads;
    }
  }
  return fewest;
}

const CutSize* FirstUndivided(const CutSizes& cuts, int64_t ranks) {
  for (const CutSize& cut : cuts) {
    if (!Divides(ranks, cut)) return &cut;
  }
  return nullptr;
}

int64_t NearestDivisor(const CutSizes& cuts, int64_t ranks) {
  for (int64_t fewer = ranks - 1; fewer > 1; --fewer) {
    if (FirstUndivided(cuts, fewer) == nullptr) return fewer;
  }
  return 1;
}

}  // namespace sextant
