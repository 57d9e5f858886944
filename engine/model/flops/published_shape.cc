#include "engine/model/flops/published_shape.h"

#include <algorithm>

#include "engine/base/status_macros.h"

namespace sextant {
namespace {

absl::Status NoFormula(absl::string_view why) { return absl::FailedPreconditionError(why); }

bool HasFrozen(const StackSpec& stack) {
  return std::any_of(stack.layers.begin(), stack.layers.end(),
                     [](const LayerRun& run) { return run.frozen; });
}

absl::Status CheckAttention(const AttentionSpec& attention, const ShapeLimits& limits) {
  if (attention.latent.has_value()) return NoFormula("the formula knows no latent attention");
  if (attention.query_key_head_size != attention.value_head_size) {
    return NoFormula("the formula has one head size for keys and values");
  }
  if (!limits.grouped_queries && attention.key_value_head_count != attention.head_count) {
    return NoFormula("the formula has a key and a value head for each query head");
  }
  if (attention.mask != AttentionMask::kCausal)
    return NoFormula("the formula is of causal attention");
  if (attention.window > 0 || attention.chunk > 0) {
    return NoFormula("the formula knows no windows or chunks of attention");
  }
  return absl::OkStatus();
}

absl::Status CheckLayerKind(const LayerSpec& layer, const ShapeLimits& limits) {
  if (layer.experts.has_value()) return NoFormula("the formula knows no mixture of experts");
  if (!layer.attention.has_value() || !layer.feed_forward.has_value()) {
    return NoFormula("the formula has attention and a feed-forward in each layer");
  }
  if (!limits.gated && layer.feed_forward->kind == FeedForwardKind::kGated) {
    return NoFormula("the formula has two matrices a feed-forward, not a gated one's three");
  }
  return CheckAttention(*layer.attention, limits);
}

bool SameSizes(const LayerSpec& a, const LayerSpec& b) {
  return a.attention->head_count == b.attention->head_count &&
         a.attention->query_key_head_size == b.attention->query_key_head_size &&
         a.feed_forward->size == b.feed_forward->size;
}

absl::Status CheckLength(const TrainingStepSpec& step) {
  for (const SequenceGroup& group : step.sequences) {
    if (group.length != step.sequences[0].length) {
      return NoFormula("the formula has one sequence length");
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool HasFrozen(const ArchitectureSpec& spec) {
  return spec.base_frozen || !spec.frozen_components.empty() || HasFrozen(spec.encoder) ||
         HasFrozen(spec.decoder);
}

absl::Status CheckWholeDecoder(const ArchitectureSpec& spec) {
  if (!spec.encoder.layers.empty()) return NoFormula("the formula is of a decoder alone");
  if (HasFrozen(spec)) {
    return NoFormula("the formula trains every parameter, and some are frozen");
  }
  if (spec.adapters.has_value()) return NoFormula("the formula knows no adapters");
  if (spec.output.head == OutputHeadKind::kNone) {
    return NoFormula("the formula counts an output head, which the model lacks");
  }
  if (spec.embedding.embedding_size != 0 && spec.embedding.embedding_size != spec.hidden_size) {
    return NoFormula("the formula has embeddings of the hidden size");
  }
  if (spec.output.transform || spec.output.pooler) {
    return NoFormula("the formula knows nothing but a head behind the layers");
  }
  return absl::OkStatus();
}

double HeadRows(const ArchitectureSpec& spec) {
  const EmbeddingSpec& e = spec.embedding;
  return static_cast<double>(e.padded_vocabulary_size == 0 ? e.vocabulary_size
                                                           : e.padded_vocabulary_size);
}

absl::StatusOr<PublishedShape> PublishedShapeOf(const ArchitectureSpec& spec,
                                                const TrainingStepSpec& step,
                                                const ShapeLimits& limits) {
  SEXTANT_RETURN_IF_ERROR(CheckWholeDecoder(spec));
  if (spec.multi_token_prediction.has_value())
    return NoFormula("the formula knows no multi-token prediction");
  const LayerSpec& first = spec.layer_kinds[0];
  double layers = 0;
  for (const LayerRun& run : spec.decoder.layers) {
    const LayerSpec& layer = spec.layer_kinds[static_cast<size_t>(run.layer_kind)];
    SEXTANT_RETURN_IF_ERROR(CheckLayerKind(first, limits));
    SEXTANT_RETURN_IF_ERROR(CheckLayerKind(layer, limits));
    if (!SameSizes(first, layer)) return NoFormula("the formula has one size for all layers");
    layers += static_cast<double>(run.count);
  }
  SEXTANT_RETURN_IF_ERROR(CheckLength(step));
  return PublishedShape{.layers = layers,
                        .hidden = static_cast<double>(spec.hidden_size),
                        .heads = static_cast<double>(first.attention->head_count),
                        .head_size = static_cast<double>(first.attention->query_key_head_size),
                        .feed_forward = static_cast<double>(first.feed_forward->size),
                        .vocabulary = HeadRows(spec),
                        .length = static_cast<double>(step.sequences[0].length)};
}

}  // namespace sextant
