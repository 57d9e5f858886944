#include <string>

#include "absl/strings/str_cat.h"
#include "engine/model/architecture/check_architecture.h"
#include "engine/model/block/mixer_block.h"

namespace sextant {
namespace {

void CheckHeads(const AttentionSpec& a, absl::string_view path, FieldViolations& violations) {
  violations.Require(path, "head_count", a.head_count, 1, kMaxHeadCount);
  violations.Require(path, "key_value_head_count", a.key_value_head_count, 1, kMaxHeadCount);
  violations.Require(path, "query_key_head_size", a.query_key_head_size, 1, kMaxHeadSize);
  violations.Require(path, "value_head_size", a.value_head_size, 1, kMaxHeadSize);
  if (a.head_count > 0 && a.key_value_head_count > 0 &&
      a.head_count % a.key_value_head_count != 0) {
    violations.Add(FieldPath(path, "key_value_head_count"),
                   absl::StrCat("must divide head_count (", a.head_count, "), which ",
                                a.key_value_head_count, " does not"));
  }
}

void CheckIndexer(const LatentSpec& latent, absl::string_view path, FieldViolations& violations) {
  const IndexerSpec& indexer = *latent.indexer;
  violations.Require(path, "latent.indexer.head_count", indexer.head_count, 1, kMaxHeadCount);
  violations.Require(path, "latent.indexer.head_size", indexer.head_size, 1, kMaxHeadSize);
  violations.RequireRange(path, "latent.indexer.chosen_count", indexer.chosen_count, 1, kMaxSpan);
  if (latent.query_rank == 0) {
    violations.Add(FieldPath(path, "latent.indexer"),
                   "reads compressed queries: give latent.query_rank");
  }
}

void CheckLatent(const AttentionSpec& a, absl::string_view path, FieldViolations& violations) {
  const LatentSpec& latent = *a.latent;
  violations.RequireRange(path, "latent.query_rank", latent.query_rank, 0, kMaxHiddenSize);
  violations.Require(path, "latent.key_value_rank", latent.key_value_rank, 1, kMaxHiddenSize);
  if (a.query_key_head_size > 0 &&
      (latent.rotary_size < 0 || latent.rotary_size >= a.query_key_head_size)) {
    violations.Add(FieldPath(path, "latent.rotary_size"),
                   absl::StrCat("must be 0 to ", a.query_key_head_size - 1,
                                ", below query_key_head_size, not ", latent.rotary_size));
  }
  if (latent.indexer.has_value()) CheckIndexer(latent, path, violations);
  if (a.key_value_head_count != a.head_count) {
    violations.Add(
        FieldPath(path, "key_value_head_count"),
        absl::StrCat("must be head_count (", a.head_count,
                     "), since a latent is expanded for every head, not ", a.key_value_head_count));
  }
  if (a.query_bias || a.key_bias || a.value_bias) {
    violations.Add(FieldPath(path, "latent"),
                   "has no biases of query, key and value: write latent.down_bias");
  }
  if (a.query_key_norm != QueryKeyNorm::kNone) {
    violations.Add(FieldPath(path, "query_key_norm"),
                   "must be none: latent attention normalises its latents");
  }
}

void CheckMask(const AttentionSpec& a, bool cross, absl::string_view path,
               FieldViolations& violations) {
  // 0 means none.
  if (a.window != 0) violations.RequireRange(path, "window", a.window, 1, kMaxSpan);
  if (a.chunk != 0) violations.RequireRange(path, "chunk", a.chunk, 1, kMaxSpan);
  if (a.window > 0 && a.chunk > 0) {
    violations.Add(FieldPath(path, "chunk"), "can't be given with a window: write one of them");
  }
  if (!cross) return;
  if (a.mask != AttentionMask::kFull || a.window != 0 || a.chunk != 0) {
    violations.Add(FieldPath(path, "mask"),
                   "must be full, without window or chunk: all of the encoder's output is seen");
  }
  if (a.latent.has_value()) {
    violations.Add(FieldPath(path, "latent"), "is not known in cross attention");
  }
}

void CheckKeysAsValues(const AttentionSpec& a, bool cross, absl::string_view path,
                       FieldViolations& violations) {
  if (!a.values_are_keys) return;
  if (cross || a.latent.has_value()) {
    violations.Add(FieldPath(path, "values_are_keys"),
                   "is not known in cross attention, nor with a latent");
  }
  if (a.value_head_size != a.query_key_head_size) {
    violations.Add(FieldPath(path, "value_head_size"),
                   "must be query_key_head_size where values are keys");
  }
  if (a.query_key_norm == QueryKeyNorm::kNone) {
    violations.Add(FieldPath(path, "query_key_norm"), "is required where values are keys");
  }
  if (a.value_bias != a.key_bias) {
    violations.Add(FieldPath(path, "value_bias"), "must be key_bias where values are keys");
  }
}

// `cross`: attention over the encoder's output.
void CheckAttention(const AttentionSpec& a, bool cross, absl::string_view path,
                    FieldViolations& violations) {
  CheckHeads(a, path, violations);
  if (a.latent.has_value()) CheckLatent(a, path, violations);
  if (a.query_key_norm == QueryKeyNorm::kNone &&
      a.query_key_norm_variant != NormVariant::kUnspecified) {
    violations.Add(FieldPath(path, "query_key_norm_variant"),
                   "is of no norm: give query_key_norm, or leave it out");
  }
  if (a.output_gate != OutputGate::kNone && cross) {
    violations.Add(FieldPath(path, "output_gate"), "is not known in cross attention");
  }
  CheckKeysAsValues(a, cross, path, violations);
  CheckMask(a, cross, path, violations);
}

void CheckFeedForward(const FeedForwardSpec& spec, absl::string_view path,
                      FieldViolations& violations) {
  if (spec.kind == FeedForwardKind::kUnspecified) {
    violations.Add(FieldPath(path, "kind"), "is required: write plain or gated");
  }
  violations.Require(path, "size", spec.size, 1, kMaxFeedForwardSize);
  violations.RequireRange(path, "activation_parameter_count", spec.activation_parameter_count, 0,
                          kMaxActivationParameters);
}

void CheckSharedExperts(const ExpertsSpec& e, absl::string_view path, FieldViolations& violations) {
  violations.RequireRange(path, "shared_expert_count", e.shared_expert_count, 0, kMaxExpertCount);
  if (e.shared_expert_count > 0) {
    CheckFeedForward(e.shared_expert, FieldPath(path, "shared_expert"), violations);
    return;
  }
  constexpr absl::string_view kNone = "is of no expert: give shared_expert_count, or leave it out";
  if (e.shared_expert.size != 0) violations.Add(FieldPath(path, "shared_expert"), kNone);
  if (e.shared_expert_gate) violations.Add(FieldPath(path, "shared_expert_gate"), kNone);
}

void CheckExpertGroups(const ExpertsSpec& e, absl::string_view path, FieldViolations& violations) {
  if (e.group_count == 0 && e.groups_per_token == 0) return;
  violations.Require(path, "group_count", e.group_count, 1, kMaxExpertCount);
  violations.Require(path, "groups_per_token", e.groups_per_token, 1, kMaxExpertCount);
  if (e.group_count < 1 || e.groups_per_token < 1 || e.expert_count < 1) return;
  if (e.expert_count % e.group_count != 0) {
    violations.Add(FieldPath(path, "group_count"),
                   absl::StrCat("must divide expert_count (", e.expert_count, "), which ",
                                e.group_count, " does not"));
    return;
  }
  const int64_t reached = e.expert_count / e.group_count * e.groups_per_token;
  if (e.groups_per_token > e.group_count || reached < e.experts_per_token) {
    violations.Add(FieldPath(path, "groups_per_token"),
                   absl::StrCat("must be at most group_count (", e.group_count,
                                ") and hold experts_per_token (", e.experts_per_token,
                                ") experts, not ", e.groups_per_token));
  }
}

void CheckExperts(const ExpertsSpec& e, absl::string_view path, FieldViolations& violations) {
  violations.Require(path, "expert_count", e.expert_count, 1, kMaxExpertCount);
  violations.Require(path, "experts_per_token", e.experts_per_token, 1, kMaxExpertCount);
  if (e.expert_count > 0 && e.experts_per_token > e.expert_count) {
    violations.Add(FieldPath(path, "experts_per_token"),
                   absl::StrCat("must be at most expert_count (", e.expert_count, "), not ",
                                e.experts_per_token));
  }
  // 0 means none.
  violations.RequireRange(path, "latent_size", e.latent_size, 0, kMaxHiddenSize);
  violations.RequireRange(path, "zero_expert_count", e.zero_expert_count, 0, kMaxExpertCount);
  CheckExpertGroups(e, path, violations);
  CheckFeedForward(e.expert, FieldPath(path, "expert"), violations);
  CheckSharedExperts(e, path, violations);
}

void CheckMixerHeads(const MixerSpec& m, absl::string_view path, FieldViolations& violations) {
  violations.Require(path, "head_count", m.head_count, 1, kMaxHeadCount);
  violations.Require(path, "head_size", m.head_size, 1, kMaxHeadSize);
  violations.Require(path, "group_count", m.group_count, 1, kMaxHeadCount);
  violations.Require(path, "state_size", m.state_size, 1, kMaxHeadSize);
  if (m.head_count > 0 && m.group_count > 0 && m.head_count % m.group_count != 0) {
    violations.Add(FieldPath(path, "group_count"),
                   absl::StrCat("must divide head_count (", m.head_count, "), which ",
                                m.group_count, " does not"));
  }
}

// A rank, a norm or a size that the kind does not have would be ignored.
void CheckMixerFields(const MixerSpec& m, absl::string_view path, FieldViolations& violations) {
  constexpr absl::string_view kOther = "is not of this kind of mixer: leave it out";
  const MixerFacts& facts = FactsOf(m.kind);
  const bool heads = HasHeads(m);
  const struct {
    bool given;
    bool known;
    absl::string_view name;
  } rules[] = {
      {m.head_count != 0, heads, "head_count"},
      {m.head_size != 0, heads, "head_size"},
      {m.group_count != 0, heads, "group_count"},
      {m.state_size != 0, heads, "state_size"},
      {m.convolution_size != 0, facts.convolution, "convolution_size"},
      {m.convolution_bias, facts.convolution, "convolution_bias"},
      {m.decay_rank != 0, facts.decay_rank, "decay_rank"},
      {m.gate_rank != 0, facts.gate_rank, "gate_rank"},
      {m.output_norm, facts.output_norm, "output_norm"},
      {m.inner_norms, facts.inner_norms, "inner_norms"},
  };
  for (const auto& rule : rules) {
    if (rule.given && !rule.known) violations.Add(FieldPath(path, rule.name), kOther);
  }
  violations.RequireRange(path, "decay_rank", m.decay_rank, facts.decay_rank_required ? 1 : 0,
                          kMaxHiddenSize);
  violations.RequireRange(path, "gate_rank", m.gate_rank, 0, kMaxHiddenSize);
}

void CheckMixerKeys(const MixerSpec& m, absl::string_view path, FieldViolations& violations) {
  const MixerHeads heads = FactsOf(m.kind).heads;
  if (heads == MixerHeads::kChannels && (m.head_size != 1 || m.group_count != 1)) {
    violations.Add(FieldPath(path, "head_size"),
                   "must be 1, as group_count must: each channel of this mixer is a head");
  }
  if (heads == MixerHeads::kOwnKeys && m.group_count != m.head_count) {
    violations.Add(FieldPath(path, "group_count"),
                   absl::StrCat("must be head_count (", m.head_count,
                                "), since each head has keys of its own, not ", m.group_count));
  }
}

void CheckMixer(const MixerSpec& m, absl::string_view path, FieldViolations& violations) {
  if (m.kind == MixerKind::kUnspecified) {
    return violations.Add(FieldPath(path, "kind"), "is required");
  }
  if (FactsOf(m.kind).convolution) {
    violations.Require(path, "convolution_size", m.convolution_size, 1, kMaxConvolutionSize);
  }
  if (HasHeads(m)) CheckMixerHeads(m, path, violations);
  CheckMixerFields(m, path, violations);
  CheckMixerKeys(m, path, violations);
}

// A norm of a missing branch would be counted, yet never run.
void CheckNorms(const LayerSpec& layer, absl::string_view path, FieldViolations& violations) {
  const bool mixes = layer.attention.has_value() || layer.mixer.has_value();
  const bool feeds = layer.feed_forward.has_value() || layer.experts.has_value();
  const bool sums = layer.feed_forward.has_value() && layer.experts.has_value();
  const struct {
    bool norm;
    bool branch;
    absl::string_view name;
  } rules[] = {
      {layer.norms.before_attention, mixes, "norms.before_attention"},
      {layer.norms.after_attention, mixes, "norms.after_attention"},
      {layer.norms.before_cross_attention, layer.cross_attention.has_value(),
       "norms.before_cross_attention"},
      {layer.norms.after_cross_attention, layer.cross_attention.has_value(),
       "norms.after_cross_attention"},
      {layer.norms.before_feed_forward, feeds, "norms.before_feed_forward"},
      {layer.norms.after_feed_forward, feeds, "norms.after_feed_forward"},
      {layer.norms.before_experts, sums, "norms.before_experts"},
      {layer.norms.before_sum, sums, "norms.before_sum"},
  };
  for (const auto& rule : rules) {
    if (rule.norm && !rule.branch) {
      violations.Add(FieldPath(path, rule.name), "must be false: the layer has no such branch");
    }
  }
  if (layer.norms.before_experts && !layer.norms.before_feed_forward) {
    violations.Add(FieldPath(path, "norms.before_feed_forward"),
                   "is required with norms.before_experts");
  }
  if (layer.norms.before_experts && sums && layer.experts->shared_expert_count > 0) {
    violations.Add(FieldPath(path, "experts.shared_expert_count"),
                   "must be 0 with norms.before_experts: what shared experts read is not known");
  }
  if (layer.norms.before_experts && sums && layer.experts->latent_size > 0) {
    violations.Add(FieldPath(path, "experts.latent_size"),
                   "is not known with norms.before_experts: leave one of them out");
  }
}

}  // namespace

void CheckLayer(const LayerSpec& layer, absl::string_view path, FieldViolations& violations) {
  if (layer.name.empty()) {
    violations.Add(FieldPath(path, "name"), "is required");
  } else if (!IsSoundName(layer.name)) {
    violations.Add(FieldPath(path, "name"),
                   absl::StrCat("must be at most ", kMaxNameLength, " printable ASCII characters"));
  }
  if (layer.norm == NormVariant::kUnspecified) {
    violations.Add(FieldPath(path, "norm"), "is required");
  }
  if (!layer.attention.has_value() && !layer.mixer.has_value() &&
      !layer.cross_attention.has_value() && !layer.feed_forward.has_value() &&
      !layer.experts.has_value()) {
    violations.Add(path,
                   "is empty: give attention, mixer, cross_attention, feed_forward or experts");
  }
  if (layer.attention.has_value()) {
    CheckAttention(*layer.attention, false, FieldPath(path, "attention"), violations);
  }
  if (layer.mixer.has_value()) CheckMixer(*layer.mixer, FieldPath(path, "mixer"), violations);
  if (layer.cross_attention.has_value()) {
    CheckAttention(*layer.cross_attention, true, FieldPath(path, "cross_attention"), violations);
  }
  if (layer.feed_forward.has_value()) {
    CheckFeedForward(*layer.feed_forward, FieldPath(path, "feed_forward"), violations);
  }
  if (layer.experts.has_value()) {
    CheckExperts(*layer.experts, FieldPath(path, "experts"), violations);
  }
  CheckNorms(layer, path, violations);
}

}  // namespace sextant
