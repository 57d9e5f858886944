#include "engine/memory/transients/layer_backward.h"

#include <algorithm>

#include "engine/memory/activations/layer_rows.h"
#include "engine/memory/transients/backward_shapes.h"

namespace sextant {
namespace {

using Step = BackwardStep;
using Branch = LayerBranch;

BackwardSizes SizesOf(const TransientContext& context, ModelPart part) {
  const ActivationContext& a = context.activations;
  const MicroBatchSpec& batch = a.batch;
  const bool two_stacks = !a.spec.encoder.layers.empty() && !a.spec.decoder.layers.empty();
  BackwardSizes out = {.hidden = a.spec.hidden_size,
                       .tokens = TokensOf(a, part),
                       .encoder_tokens = two_stacks ? TokensOf(a, ModelPart::kEncoder) : 0,
                       .gathers = batch.sequence_parallel && a.layout.tensor_parallel_size > 1,
                       .dropout = batch.dropout,
                       .weight_gradients = !context.buffers.fused_weight_gradient,
                       .compute_bytes = ComputeBytesOf(batch),
                       .gradient_bytes = StorageBytes(context.gradient_data_type)};
  out.sequence_tokens = out.gathers ? out.tokens / a.layout.tensor_parallel_size : out.tokens;
  return out;
}

}  // namespace

LayerBackward::LayerBackward(const TransientContext& context, const ActivationPlace& place)
    : context_(context),
      place_(place),
      layer_(context.activations.spec.layer_kinds[static_cast<size_t>(place.layer_kind)]),
      sizes_(SizesOf(context, place.part)) {}

void LayerBackward::Walk(BackwardPeak& out) {
  out_ = &out;
  beside_ = 0;
  const int64_t ranks = context_.activations.layout.tensor_parallel_size;
  const LayerNorms& norms = layer_.norms;
  if (layer_.feed_forward.has_value() || layer_.experts.has_value()) {
    WalkEnds(Branch::kFeedForward, norms.after_feed_forward);
    if (layer_.feed_forward.has_value()) {
      const FeedForwardSpec& dense = *layer_.feed_forward;
      WalkFeedForward({.features = dense.size / ranks,
                       .gated = dense.kind == FeedForwardKind::kGated,
                       .inner = ActivationSite::kFeedForwardInner},
                      layer_.experts.has_value() ? Branch::kBesideExperts : Branch::kFeedForward);
    }
    if (layer_.experts.has_value()) WalkExperts(*layer_.experts);
    // Branches in parallel read one norm: the first one's gradient waits for the second's.
    if (SharesItsInput(layer_)) {
      beside_ = 1;
    } else {
      WalkBeforeNorm(Branch::kFeedForward, norms.before_feed_forward);
    }
  }
  if (layer_.cross_attention.has_value()) {
    WalkEnds(Branch::kCrossAttention, norms.after_cross_attention);
    WalkAttention(*layer_.cross_attention, Branch::kCrossAttention);
    WalkBeforeNorm(Branch::kCrossAttention, norms.before_cross_attention);
  }
  if (layer_.attention.has_value()) {
    WalkEnds(Branch::kAttention, norms.after_attention);
    WalkAttention(*layer_.attention, Branch::kAttention);
    beside_ = 0;
    WalkBeforeNorm(Branch::kAttention, norms.before_attention);
  }
  out.End();
}

// What each step has: the gradient of the sum that the branch added to, which the residual carries
// on; what waits for it; the gradient of the encoder's output, which all cross attentions add to.
void LayerBackward::Start(LayerBranch branch, BackwardStep step) {
  out_->Begin({branch, step});
  Make("residual_gradient", "b s h", Cut(), "the residual carries it past the branch");
  if (beside_ > 0) {
    Make("waiting_input_gradient", "b s h", Cut() * beside_,
         "added to that of the branch in work, which read the same");
  }
  if (!layer_.cross_attention.has_value()) return;
  const int64_t ranks = sizes_.gathers ? sizes_.tokens / sizes_.sequence_tokens : 1;
  Make("encoder_output_gradient", "b s' h",
       CheckedInt(sizes_.encoder_tokens / ranks) * sizes_.hidden, "all cross attentions add to it");
}

void LayerBackward::WalkEnds(LayerBranch branch, bool norm) {
  if (norm) {
    Start(branch == Branch::kFeedForward ? Branch::kBesideExperts : branch, Step::kAfterNorm);
    MakeInputGradient("norm_input_gradient");
  }
  if (!sizes_.dropout) return;
  Start(branch == Branch::kFeedForward ? Branch::kBesideExperts : branch, Step::kDropout);
  if (norm) MakeInputGradient("norm_input_gradient");
  MakeInputGradient("dropout_input_gradient");
}

void LayerBackward::WalkBeforeNorm(LayerBranch branch, bool norm) {
  Start(branch, Step::kBeforeNorm);
  MakeInputGradient("branch_input_gradient");
  if (norm) MakeInputGradient("norm_input_gradient");
}

void LayerBackward::MakeOutputGradient(bool normed) {
  if (normed || sizes_.dropout) MakeInputGradient("branch_output_gradient");
  if (sizes_.gathers) {
    Make("gathered_output_gradient", "b s h", Whole(), "a rank's columns read all tokens");
  }
}

void LayerBackward::MakeInputGradient(absl::string_view name) {
  Make(name, "b s h", Cut(), "made by the step");
}

void LayerBackward::MakeWeightGradient(const Matrix& matrix) {
  const LayerGradients* gradients = place_.gradients;
  if (!sizes_.weight_gradients) return;
  if (gradients != nullptr && !gradients->trained.Has(matrix.reads)) return;
  out_->Make({.name = "weight_gradient",
              .shape = matrix.shape,
              .elements = matrix.elements,
              .element_bytes = sizes_.gradient_bytes,
              .why = "a tensor of its own before it is added to its buffer"},
             sizes_.gradient_bytes);
}

void LayerBackward::WalkFeedForward(const Inner& inner, LayerBranch branch) {
  const CheckedInt features = CheckedInt(inner.features) * sizes_.tokens;
  const int64_t inputs = inner.gated ? 2 : 1;
  const CheckedInt weights = CheckedInt(inner.features) * sizes_.hidden;
  Start(branch, Step::kOutput);
  MakeOutputGradient(layer_.norms.after_feed_forward);
  Make("down_input_gradient", "b s f", features, "made by down");
  MakeWeightGradient({.shape = "h f", .elements = weights, .reads = inner.inner});
  Start(branch, Step::kCore);
  Make("down_input_gradient", "b s f", features, "read by the activation function");
  Make("up_gradient", "b s f", features * inputs, "made by it; of gate and up");
  // The same features as its kept operands: the matrices of gate and up run as one.
  Start(branch, Step::kInput);
  Make("up_gradient", "b s f", features * inputs, "read by the matrices; of gate and up");
  MakeBranchInput();
  MakeWeightGradient(
      {.shape = "f h", .elements = weights * inputs, .reads = ActivationSite::kFeedForwardInput});
  if (branch == Branch::kBesideExperts) ++beside_;
}

// dx is worked out for all tokens from a rank's features, then summed among ranks: scattered under
// sequence parallelism, whose ranks gather x once more for dW.
void LayerBackward::MakeBranchInput() {
  MakeInputGradient("branch_input_gradient");
  if (!sizes_.gathers) return;
  Make("gathered_input", "b s h", Whole(), "a rank's weight gradient reads all tokens");
  Make("unreduced_input_gradient", "b s h", Whole(), "a rank's part of the sum, of all tokens");
}

// Shared experts first, then those that tokens were routed to.
void LayerBackward::WalkExperts(const ExpertsSpec& experts) {
  const int64_t ranks = context_.activations.layout.tensor_parallel_size;
  if (experts.shared_expert_count > 0) {
    WalkFeedForward({.features = experts.shared_expert_count * experts.shared_expert.size / ranks,
                     .gated = experts.shared_expert.kind == FeedForwardKind::kGated,
                     .inner = ActivationSite::kSharedExpertInner},
                    Branch::kBesideExperts);
  }
  WalkRouted(experts);
  beside_ = 0;
}

// Gradients go the way of the tokens, to the experts' ranks and back.
void LayerBackward::WalkRouted(const ExpertsSpec& experts) {
  const ActivationContext& a = context_.activations;
  const int64_t width = experts.expert.size / ExpertTensorParallelSize(a.layout);
  const CheckedInt slots = ExpertSlotsPerSequence(experts, a, place_.part) * a.batch.sequence_count;
  const CheckedInt sent = Cut() * experts.experts_per_token;
  const CheckedInt received = slots * sizes_.hidden;
  const CheckedInt features = slots * width;
  const int64_t inputs = experts.expert.kind == FeedForwardKind::kGated ? 2 : 1;
  const CheckedInt weights =
      CheckedInt(width) * sizes_.hidden * (experts.expert_count / a.layout.expert_parallel_size);
  Start(Branch::kFeedForward, Step::kOutput);
  if (layer_.norms.after_feed_forward || sizes_.dropout) {
    MakeInputGradient("branch_output_gradient");
  }
  Make("combined_gradient", "b s k h", sent, "a copy for each expert of a token");
  Make("expert_output_gradient", "b s k h", received, "the same, at the experts' ranks");
  Start(Branch::kFeedForward, Step::kOutput);
  Make("expert_output_gradient", "b s k h", received, "read by down");
  Make("down_input_gradient", "b s k f", features, "made by down");
  MakeWeightGradient(
      {.shape = "E h f", .elements = weights, .reads = ActivationSite::kExpertInner});
  Start(Branch::kFeedForward, Step::kCore);
  Make("down_input_gradient", "b s k f", features, "read by the activation function");
  Make("up_gradient", "b s k f", features * inputs, "made by it; of gate and up");
  Start(Branch::kFeedForward, Step::kInput);
  Make("up_gradient", "b s k f", features * inputs, "read by the matrices; of gate and up");
  Make("expert_input_gradient", "b s k h", received, "made by them");
  MakeWeightGradient(
      {.shape = "E f h", .elements = weights * inputs, .reads = ActivationSite::kExpertInput});
  Start(Branch::kFeedForward, Step::kInput);
  Make("expert_input_gradient", "b s k h", received, "at the experts' ranks");
  Make("dispatched_gradient", "b s k h", sent, "the same, back at the tokens' ranks");
  MakeInputGradient("branch_input_gradient");
}

}  // namespace sextant
