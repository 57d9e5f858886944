#include "engine/model/config/decoder_draft.h"

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

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
          .output_gate = s.output_gate};
}

void SetSizes(const WindowAttention& sizes, AttentionSpec& out) {
  out.head_count = sizes.head_count;
  out.key_value_head_count = sizes.key_value_head_count;
  out.query_key_head_size = sizes.head_size;
  out.value_head_size = sizes.value_head_size;
  out.sinks = sizes.sinks;
}

LayerSpec LayerOf(const DecoderDraft& d, LayerTraits traits) {
  LayerSpec out;
  out.norm = d.style.norm;
  out.norms = d.style.norms;
  out.attention = AttentionOf(d);
  if (traits.span == LayerSpan::kWindow) {
    out.attention->window = d.window;
    if (d.window_attention.has_value()) SetSizes(*d.window_attention, *out.attention);
  }
  if (traits.span == LayerSpan::kChunk) out.attention->chunk = d.chunk;
  if (traits.shared_indexer) out.attention->latent->indexer->shared = true;
  if (traits.experts) {
    out.experts = d.experts;
  } else {
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
    int& kind = kind_of_[static_cast<size_t>(traits.span) * 4 + (traits.experts ? 2 : 0) +
                         (traits.shared_indexer ? 1 : 0)];
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
  std::string NameOfKind(LayerTraits traits) const {
    return absl::StrCat(NameOfSpanAndFeed(traits), traits.shared_indexer ? "_no_indexer" : "");
  }

  std::string NameOfSpanAndFeed(LayerTraits traits) const {
    const auto differ = [this](auto trait) {
      return std::any_of(traits_.begin(), traits_.end(),
                         [&](const LayerTraits& t) { return t.*trait != traits_[0].*trait; });
    };
    const absl::string_view feed = traits.experts ? "experts" : "dense";
    if (!differ(&LayerTraits::span)) return std::string(feed);
    if (!differ(&LayerTraits::experts)) return std::string(NameOf(traits.span));
    return absl::StrCat(NameOf(traits.span), "_", feed);
  }

  const DecoderDraft& draft_;
  std::array<int, 12> kind_of_ = {-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  std::vector<LayerTraits> traits_;
  std::vector<LayerSpec> kinds_;
  std::vector<LayerRun> runs_;
};

}  // namespace

DecoderDraft WithDefaults(DecoderDraft draft) {
  if (draft.key_value_head_count == 0) draft.key_value_head_count = draft.head_count;
  if (draft.head_size == 0) draft.head_size = draft.hidden_size / draft.head_count;
  if (draft.value_head_size == 0) draft.value_head_size = draft.head_size;
  return draft;
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
  for (int64_t i = 0; i < d.layer_count; ++i) {
    const auto at = static_cast<size_t>(i);
    layers.Add(
        {.span = d.spans.empty() ? LayerSpan::kAll : d.spans[at],
         .experts = d.experts.has_value() && (d.expert_layers.empty() || d.expert_layers[at]),
         .shared_indexer = !d.shared_indexers.empty() && d.shared_indexers[at]});
  }
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
