#include "engine/model/flops/published_formulas.h"

#include <algorithm>

#include "engine/base/status_macros.h"
#include "engine/model/flops/attended_length.h"

namespace sextant {
namespace {

absl::Status NoFormula(absl::string_view why) { return absl::FailedPreconditionError(why); }

bool HasFrozen(const StackSpec& stack) {
  return std::any_of(stack.layers.begin(), stack.layers.end(),
                     [](const LayerRun& run) { return run.frozen; });
}

absl::Status CheckAttention(const AttentionSpec& attention, const ShapeLimits& limits) {
  if (attention.latent.has_value()) return NoFormula("the formula knows no latent attention");
  if (attention.output_gate != OutputGate::kNone) {
    return NoFormula("the formula knows no gate on attention's output");
  }
  if (attention.values_are_keys) return NoFormula("the formula has a matrix of values");
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
  if (layer.mixer.has_value()) return NoFormula("the formula knows no mixers");
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

using Term = FlopsTerm;

constexpr double kPasses = 3;  // forward, and backward for inputs and for weights

constexpr double kExpansion = 3 * 2;  // passes, and FLOPs per multiply-add

absl::Status NotCounted(absl::string_view why) { return absl::FailedPreconditionError(why); }

double MatricesOf(const FeedForwardSpec& feed_forward) {
  return feed_forward.kind == FeedForwardKind::kGated ? 3 : 2;
}

class MegatronCounter {
 public:
  MegatronCounter(const ArchitectureSpec& spec, const TrainingStepSpec& step)
      : spec_(spec), hidden_(static_cast<double>(spec.hidden_size)) {
    // Causal and without windows, as the counter assumes for every model.
    const ByMask<double> attended = TokenShares(step).Attended({}, false);
    mean_length_ = attended[static_cast<size_t>(MaskConvention::kCausal)];
  }

  absl::StatusOr<TermFlops> Count() {
    SEXTANT_RETURN_IF_ERROR(CheckWholeDecoder(spec_));
    for (const LayerRun& run : spec_.decoder.layers) {
      SEXTANT_RETURN_IF_ERROR(AddLayers(run.layer_kind, static_cast<double>(run.count)));
    }
    double heads = 1;
    if (spec_.multi_token_prediction.has_value()) {
      const MultiTokenPredictionSpec& modules = *spec_.multi_token_prediction;
      const auto count = static_cast<double>(modules.module_count);
      if (!IsLikeLastLayer(modules.layer_kind)) {
        return NotCounted(
            "the counter takes modules of multi-token prediction for layers like the last");
      }
      SEXTANT_RETURN_IF_ERROR(AddLayers(modules.layer_kind, count));
      out_.Add(Term::kMultiTokenProjection, kExpansion * count * 2 * hidden_ * hidden_);
      out_.Add(Term::kNormsAndBiases, kExpansion * count * 3 * hidden_);
      heads += count;
    }
    out_.Add(Term::kOutputHead, kExpansion * hidden_ * HeadRows(spec_) * heads);
    return out_;
  }

 private:
  const LayerSpec& Kind(int kind) const { return spec_.layer_kinds[static_cast<size_t>(kind)]; }

  bool IsLikeLastLayer(int kind) const {
    const LayerSpec& last = Kind(spec_.decoder.layers.back().layer_kind);
    return Kind(kind).experts.has_value() == last.experts.has_value();
  }

  absl::Status AddLayers(int kind, double count) {
    const LayerSpec& layer = Kind(kind);
    if (layer.mixer.has_value()) return NotCounted("mixers are not counted by this convention");
    if (!layer.attention.has_value()) return NotCounted("the counter has attention in each layer");
    if (layer.feed_forward.has_value() == layer.experts.has_value()) {
      return NotCounted("the counter has either a feed-forward or experts in each layer");
    }
    SEXTANT_RETURN_IF_ERROR(CheckAlike(layer));
    AddAttention(*layer.attention, count * kExpansion);
    AddFeedForward(layer, count * kExpansion);
    return absl::OkStatus();
  }

  // All layers must have the same sizes.
  absl::Status CheckAlike(const LayerSpec& layer) {
    const AttentionSpec& a = *layer.attention;
    if (attention_ == nullptr) attention_ = &a;
    if (a.head_count != attention_->head_count ||
        a.key_value_head_count != attention_->key_value_head_count ||
        a.query_key_head_size != attention_->query_key_head_size ||
        a.value_head_size != attention_->value_head_size ||
        a.latent.has_value() != attention_->latent.has_value()) {
      return NotCounted("the counter has one size of attention for all layers");
    }
    if (a.output_gate != OutputGate::kNone) {
      return NotCounted("the counter knows no gate on attention's output");
    }
    if (a.values_are_keys) return NotCounted("the counter has a matrix of values in each layer");
    if (a.latent.has_value() && a.latent->indexer.has_value()) {
      return NotCounted("the counter knows no indexer");
    }
    if (layer.experts.has_value() && layer.experts->latent_size > 0) {
      return NotCounted("the counter has experts of the hidden size");
    }
    if (!a.latent.has_value() && a.query_key_head_size != a.value_head_size) {
      return NotCounted("the counter has one head size for keys and values");
    }
    const FeedForwardSpec& here =
        layer.experts.has_value() ? layer.experts->expert : *layer.feed_forward;
    const FeedForwardSpec*& known = layer.experts.has_value() ? expert_ : dense_;
    if (known == nullptr) known = &here;
    if (here.size != known->size || here.kind != known->kind) {
      return NotCounted("the counter has one size of feed-forward for all layers");
    }
    return absl::OkStatus();
  }

  // `factor`: layers times kExpansion.
  void AddAttention(const AttentionSpec& a, double factor) {
    const auto heads = static_cast<double>(a.head_count);
    const auto groups = static_cast<double>(a.key_value_head_count);
    const auto d = static_cast<double>(a.query_key_head_size);
    const auto v = static_cast<double>(a.value_head_size);
    out_.Add(Term::kCoreAttention, factor * mean_length_ * heads * (d + v));
    if (!a.latent.has_value()) {
      out_.Add(Term::kAttentionProjections,
               factor * hidden_ * (heads * d + groups * d + groups * v + heads * v));
      return;
    }
    const auto q = static_cast<double>(a.latent->query_rank);
    const auto r = static_cast<double>(a.latent->key_value_rank);
    const auto rotary = static_cast<double>(a.latent->rotary_size);
    const double queries = q > 0 ? q * (hidden_ + heads * d) : hidden_ * heads * d;
    const double keys = r * (hidden_ + heads * (d - rotary + v)) + hidden_ * rotary;
    out_.Add(Term::kAttentionProjections, factor * (queries + keys + heads * v * hidden_));
    out_.Add(Term::kNormsAndBiases, factor * (q + r));
  }

  void AddFeedForward(const LayerSpec& layer, double factor) {
    if (layer.feed_forward.has_value()) {
      const FeedForwardSpec& f = *layer.feed_forward;
      out_.Add(Term::kFeedForward, factor * hidden_ * MatricesOf(f) * static_cast<double>(f.size));
      return;
    }
    const ExpertsSpec& e = *layer.experts;
    out_.Add(Term::kRoutedExperts, factor * hidden_ * MatricesOf(e.expert) *
                                       static_cast<double>(e.expert.size) *
                                       static_cast<double>(e.experts_per_token));
    if (e.shared_expert_count == 0) return;
    out_.Add(Term::kSharedExperts, factor * hidden_ * MatricesOf(e.shared_expert) *
                                       static_cast<double>(e.shared_expert.size) *
                                       static_cast<double>(e.shared_expert_count));
  }

  const ArchitectureSpec& spec_;
  const double hidden_;
  double mean_length_ = 0;
  const AttentionSpec* attention_ = nullptr;
  const FeedForwardSpec* dense_ = nullptr;
  const FeedForwardSpec* expert_ = nullptr;
  TermFlops out_;
};

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
    return NoFormula("the formula knows only a head after the layers");
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

TermFlops KaplanTerms(const PublishedShape& p) {
  TermFlops out;
  const double forward = kPasses * 2 * p.layers;
  out.Add(Term::kAttentionProjections, forward * p.hidden * 4 * p.attention());
  out.Add(Term::kFeedForward, forward * p.hidden * 2 * p.feed_forward);
  out.Add(Term::kCoreAttention, forward * p.length * p.attention());
  return out;
}

TermFlops ChinchillaTerms(const PublishedShape& p) {
  TermFlops out;
  const double layers = kPasses * p.layers;
  out.Add(Term::kEmbeddingLookup, kPasses * 2 * p.vocabulary * p.hidden);
  out.Add(Term::kAttentionProjections, layers * (6 + 2) * p.hidden * p.attention());
  out.Add(Term::kCoreAttention, layers * (2 + 2) * p.length * p.attention());
  out.Add(Term::kSoftmax, layers * 3 * p.heads * p.length);
  out.Add(Term::kFeedForward, layers * 4 * p.hidden * p.feed_forward);
  out.Add(Term::kOutputHead, kPasses * 2 * p.hidden * p.vocabulary);
  return out;
}

TermFlops PalmTerms(const WeightTensors& tensors, const PublishedShape& p) {
  TermFlops out = SixNTerms(tensors, true);
  out.Add(Term::kCoreAttention, 12 * p.layers * p.attention() * p.length);
  return out;
}

TermFlops Megatron2021Terms(const PublishedShape& p, bool recompute) {
  // A layer's pass: 8 h^2 for its projections, 16 h^2 for its feed-forward, 4 s h for scores and
  // their sum: 24 h^2 (1 + s/6h).
  const double projections = p.layers * 8 * p.hidden * p.hidden;
  const double feed_forward = p.layers * 16 * p.hidden * p.hidden;
  const double core = p.layers * 4 * p.length * p.hidden;
  TermFlops out;
  out.Add(Term::kAttentionProjections, kPasses * projections);
  out.Add(Term::kFeedForward, kPasses * feed_forward);
  out.Add(Term::kCoreAttention, kPasses * core);
  out.Add(Term::kOutputHead, kPasses * 2 * p.hidden * p.vocabulary);
  if (recompute) out.Add(Term::kRecompute, projections + feed_forward + core);
  return out;
}

absl::StatusOr<TermFlops> MegatronCausalTerms(const ArchitectureSpec& spec,
                                              const TrainingStepSpec& step) {
  return MegatronCounter(spec, step).Count();
}

}  // namespace sextant
