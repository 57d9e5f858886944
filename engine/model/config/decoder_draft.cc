#include "engine/model/config/decoder_draft.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "engine/model/block/mixer_block.h"

namespace sextant {
namespace {

absl::string_view NameOf(LayerSpan span) {
  switch (span) {
    case LayerSpan::kAll:
      return "global";
    case LayerSpan::kWindow:
      return "sliding";
    case LayerSpan::kChunk:
      return "chunked";
  }
  return "global";
}

AttentionSpec AttentionOf(const DecoderDraft& d) {
  const DecoderStyle& s = d.style;
  const bool bias = s.query_key_value_bias;
  return {.head_count = d.head_count,
          .key_value_head_count = d.key_value_head_count,
          .query_key_head_size = d.head_size,
          .value_head_size = d.value_head_size,
          .latent = d.latent,
          .query_bias = bias,
          .key_bias = bias,
          .value_bias = bias,
          .output_bias = s.attention_output_bias,
          .query_key_norm = s.query_key_norm,
          .query_key_norm_variant = s.query_key_norm == QueryKeyNorm::kNone
                                        ? NormVariant::kUnspecified
                                        : s.query_key_norm_variant,
          .sinks = d.sinks,
          .output_gate = s.output_gate,
          .values_are_keys = d.values_are_keys};
}

void SetSizes(const WindowAttention& sizes, AttentionSpec& out) {
  out.head_count = sizes.head_count;
  out.key_value_head_count = sizes.key_value_head_count;
  out.query_key_head_size = sizes.head_size;
  out.value_head_size = sizes.value_head_size;
  out.sinks = sizes.sinks;
  out.values_are_keys = false;
}

void SetAttention(const DecoderDraft& d, LayerTraits traits, LayerSpec& out) {
  out.attention = AttentionOf(d);
  if (traits.span == LayerSpan::kWindow) {
    out.attention->window = d.window;
    if (d.window_attention.has_value()) SetSizes(*d.window_attention, *out.attention);
  }
  if (traits.span == LayerSpan::kChunk) out.attention->chunk = d.chunk;
  if (traits.shared_indexer) out.attention->latent->indexer->shared = true;
}

// Norms of branches that a layer lacks are left out.
LayerNorms NormsOf(const DecoderDraft& d, LayerTraits traits) {
  LayerNorms out = d.style.norms;
  const bool mixes = traits.parts.attention || traits.parts.mixer;
  const bool sums = traits.parts.feeds && traits.experts && d.experts_and_dense;
  out.before_attention = out.before_attention && mixes;
  out.after_attention = out.after_attention && mixes;
  out.before_feed_forward = out.before_feed_forward && traits.parts.feeds;
  out.after_feed_forward = out.after_feed_forward && traits.parts.feeds;
  out.before_experts = out.before_experts && sums;
  out.before_sum = out.before_sum && sums;
  return out;
}

LayerSpec LayerOf(const DecoderDraft& d, LayerTraits traits) {
  LayerSpec out;
  out.norm = d.style.norm;
  out.norms = NormsOf(d, traits);
  out.output_scale = d.output_scale;
  if (traits.parts.attention) SetAttention(d, traits, out);
  if (traits.parts.mixer) out.mixer = d.mixer;
  if (!traits.parts.feeds) return out;
  if (traits.experts) out.experts = d.experts;
  if (!traits.experts || d.experts_and_dense) {
    out.feed_forward =
        FeedForwardSpec{.kind = d.style.feed_forward,
                        .size = d.feed_forward_size,
                        .input_bias = d.style.feed_forward_bias,
                        .output_bias = d.style.feed_forward_bias,
                        .activation_parameter_count = d.style.activation_parameter_count};
  }
  return out;
}

// Collects layers one by one.
class LayerList {
 public:
  explicit LayerList(const DecoderDraft& draft) : draft_(draft) {}

  void Add(LayerTraits traits) {
    const int kind = KindOf(traits);
    if (runs_.empty() || runs_.back().layer_kind != kind) runs_.push_back({.layer_kind = kind});
    ++runs_.back().count;
  }

  // The index of the kind of such layers, which is added where there is none.
  int KindOf(LayerTraits traits) {
    int& kind = kind_of_[KeyOf(traits)];
    if (kind >= 0) return kind;
    kind = static_cast<int>(kinds_.size());
    kinds_.push_back(LayerOf(draft_, traits));
    traits_.push_back(traits);
    return kind;
  }

  int last_kind() const { return runs_.back().layer_kind; }

  void MoveTo(ArchitectureSpec& out) {
    for (size_t i = 0; i < kinds_.size(); ++i) kinds_[i].name = NameOfKind(traits_[i]);
    out.layer_kinds = std::move(kinds_);
    out.decoder.layers = std::move(runs_);
  }

 private:
  static constexpr size_t kSpans = 3;
  static constexpr size_t kFlags = 5;

  static size_t KeyOf(LayerTraits traits) {
    size_t key = static_cast<size_t>(traits.span);
    for (const bool flag : {traits.experts, traits.shared_indexer, traits.parts.attention,
                            traits.parts.mixer, traits.parts.feeds}) {
      key = 2 * key + (flag ? 1 : 0);
    }
    return key;
  }

  template <typename Trait>
  bool Differ(Trait trait) const {
    return std::any_of(traits_.begin(), traits_.end(),
                       [&](const LayerTraits& t) { return trait(t) != trait(traits_[0]); });
  }

  // Empty where it is not needed.
  std::string NameOfMixing(LayerTraits traits) const {
    const bool spans = Differ([](const LayerTraits& t) { return t.span; });
    const bool parts = Differ([](const LayerTraits& t) { return t.parts; });
    const absl::string_view attention = spans ? NameOf(traits.span) : "attention";
    if (traits.parts.mixer) {
      return absl::StrCat(traits.parts.attention ? "attention_" : "",
                          MixerName(draft_.mixer->kind));
    }
    return std::string((spans || parts) && traits.parts.attention ? attention : "");
  }

  std::string NameOfKind(LayerTraits traits) const {
    const bool feeds_differ = Differ([](const LayerTraits& t) { return t.experts; });
    std::string out = NameOfMixing(traits);
    if (traits.parts.feeds && (out.empty() || feeds_differ)) {
      absl::StrAppend(&out, out.empty() ? "" : "_", traits.experts ? "experts" : "dense");
    }
    return absl::StrCat(out, traits.shared_indexer ? "_no_indexer" : "");
  }

  const DecoderDraft& draft_;
  std::vector<int> kind_of_ = std::vector<int>(kSpans << kFlags, -1);
  std::vector<LayerTraits> traits_;
  std::vector<LayerSpec> kinds_;
  std::vector<LayerRun> runs_;
};

}  // namespace

DecoderDraft WithDefaults(DecoderDraft draft) {
  if (draft.key_value_head_count == 0) draft.key_value_head_count = draft.head_count;
  if (draft.head_count == 0) return draft;
  if (draft.head_size == 0) draft.head_size = draft.hidden_size / draft.head_count;
  if (draft.value_head_size == 0) draft.value_head_size = draft.head_size;
  return draft;
}

namespace {

LayerTraits TraitsOf(const DecoderDraft& d, size_t layer) {
  LayerTraits out = {
      .span = d.spans.empty() ? LayerSpan::kAll : d.spans[layer],
      .experts = d.experts.has_value() && (d.expert_layers.empty() || d.expert_layers[layer]),
      .shared_indexer = !d.shared_indexers.empty() && d.shared_indexers[layer],
      .parts = d.parts.empty() ? LayerParts() : d.parts[layer]};
  out.experts = out.experts && out.parts.feeds;
  return out;
}

}  // namespace

bool HasDenseLayers(const DecoderDraft& draft) {
  for (int64_t i = 0; i < draft.layer_count; ++i) {
    const LayerTraits traits = TraitsOf(draft, static_cast<size_t>(i));
    if (traits.parts.feeds && (!traits.experts || draft.experts_and_dense)) return true;
  }
  return false;
}

ArchitectureSpec ArchitectureOf(const DecoderDraft& draft) {
  const DecoderDraft d = WithDefaults(draft);
  ArchitectureSpec out;
  out.hidden_size = d.hidden_size;
  out.norm = d.style.norm;
  out.embedding = {.vocabulary_size = d.vocabulary_size, .embedding_size = d.embedding_size};
  out.decoder.learned_position_count = d.learned_position_count;
  out.decoder.first_position = d.first_position;
  out.decoder.embedding_norm = d.style.embedding_norm;
  out.decoder.final_norm = d.style.final_norm;
  out.output = {.head = d.style.tied ? OutputHeadKind::kTied : OutputHeadKind::kUntied,
                .head_bias = d.style.head_bias};
  LayerList layers(d);
  for (int64_t i = 0; i < d.layer_count; ++i) layers.Add(TraitsOf(d, static_cast<size_t>(i)));
  if (d.prediction_module_count > 0) {
    out.multi_token_prediction = MultiTokenPredictionSpec{
        .module_count = d.prediction_module_count,
        .layer_kind = d.prediction_layer.has_value() ? layers.KindOf(*d.prediction_layer)
                                                     : layers.last_kind()};
  }
  layers.MoveTo(out);
  return out;
}

}  // namespace sextant
