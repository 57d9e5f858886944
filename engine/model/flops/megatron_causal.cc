#include "engine/base/status_macros.h"
#include "engine/model/flops/attended_length.h"
#include "engine/model/flops/published_formulas.h"

namespace sextant {
namespace {

using Term = FlopsTerm;

constexpr double kExpansion = 3 * 2;  // passes, and FLOPs a multiply-add

absl::Status NotCounted(absl::string_view why) { return absl::FailedPreconditionError(why); }

double MatricesOf(const FeedForwardSpec& feed_forward) {
  return feed_forward.kind == FeedForwardKind::kGated ? 3 : 2;
}

class MegatronCounter {
 public:
  MegatronCounter(const ArchitectureSpec& spec, const TrainingStepSpec& step)
      : spec_(spec), hidden_(static_cast<double>(spec.hidden_size)) {
    // Causal and unwindowed whatever the model says, as the counter takes it.
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
    if (!layer.attention.has_value()) return NotCounted("the counter has attention in each layer");
    if (layer.feed_forward.has_value() == layer.experts.has_value()) {
      return NotCounted("the counter has either a feed-forward or experts in each layer");
    }
    SEXTANT_RETURN_IF_ERROR(CheckAlike(layer));
    AddAttention(*layer.attention, count * kExpansion);
    AddFeedForward(layer, count * kExpansion);
    return absl::OkStatus();
  }

  // One set of sizes serves the whole model.
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

absl::StatusOr<TermFlops> MegatronCausalTerms(const ArchitectureSpec& spec,
                                              const TrainingStepSpec& step) {
  return MegatronCounter(spec, step).Count();
}

}  // namespace sextant
