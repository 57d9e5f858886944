// Walks a layer's backward pass from its last branch to its first. Each step names the gradients
// that it makes or reads; BackwardPeak adds them to the bytes recomputed and not yet freed, and
// keeps the step with the largest sum. Sums are all that a first walk needs: it allocates nothing.
// A second walk lists the tensors of the step that the first one found.
//
// Time is linear in the steps of a layer, which has a fixed number of branches.
#include "engine/memory/transients/layer_backward.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "engine/memory/activations/layer_rows.h"
#include "engine/model/block/mixer_block.h"

namespace sextant {
namespace {

// Full recomputation. The layer's input is the tensor that its first norm, or its first matrix,
// keeps, unless a matrix keeps a narrower copy.
LayerSteps AllAgain(const ActivationContext& context, const ActivationPlace& place,
                    ActivationTensors* again_rows) {
  const LayerSpec& layer = context.spec.layer_kinds[static_cast<size_t>(place.layer_kind)];
  MicroBatchSpec keeps_all = context.batch;
  keeps_all.recomputation = {};
  const ActivationContext all = {context.spec, context.layout, keeps_all, context.flow};
  LayerSteps held;
  ActivationList list(all, again_rows, &held);
  list.GoTo(place);
  AddLayerRows(layer, list);
  LayerSteps out = {.again = held.kept, .all = held.all, .any_again = true};
  if (!list.Needs(ActivationSite::kLayerOutput)) return out;

  ActivationList inputs(context);
  inputs.GoTo(place);
  AddLayerInputRow(inputs);
  const CheckedInt input = inputs.total();
  const size_t index = InputPositionOf(layer).index();
  const bool same = KeepsItsInput(layer, context.batch) && out.again[index] >= input.value();
  out.all = out.all + input;
  out.kept[index] = input.value();
  if (!same || !out.all.ok()) return out;
  out.again[index] -= input.value();
  if (again_rows != nullptr) again_rows->erase(again_rows->begin());
  return out;
}

constexpr int64_t kWideBytes = 4;  // fp32

using Step = BackwardStep;
using Branch = LayerBranch;

BackwardSizes SizesOf(const TransientContext& context, ModelPart part) {
  const ActivationContext& a = context.activations;
  const MicroBatchSpec& batch = a.batch;
  const bool two_stacks = !a.spec.encoder.layers.empty() && !a.spec.decoder.layers.empty();
  BackwardSizes out = {.hidden = a.spec.hidden_size,
                       .tokens = TokensOf(a, part),
                       .encoder_tokens = two_stacks ? TokensOf(a, ModelPart::kEncoder) : 0,
                       .gathers = SequenceRanks(batch, a.layout) > 1,
                       .dropout = batch.dropout,
                       .weight_gradients = !context.buffers.fused_weight_gradient,
                       .compute_bytes = ComputeBytesOf(batch),
                       .gradient_bytes = StorageBytes(context.gradient_data_type)};
  out.sequence_tokens = out.tokens / SequenceRanks(batch, a.layout);
  return out;
}

// The gradients of tokens between their ranks and those of their experts.
struct TokensOnTheirWay {
  absl::string_view shape;
  int64_t copies = 1;  // of a rank's tokens
  absl::string_view why;
};
TokensOnTheirWay WayOf(const ExpertsSpec& experts, const ActivationContext& a) {
  if (a.batch.expert_dispatch == ExpertDispatch::kAllGather) {
    return {experts.latent_size > 0 ? "b s l" : "b s h", TokenGatheringRanks(a.layout, a.batch),
            "of the tokens of all ranks"};
  }
  return {RoutedShape(experts), experts.experts_per_token, "a copy for each expert of a token"};
}

}  // namespace

LayerSteps LayerStepsOf(const ActivationContext& context, const ActivationPlace& place,
                        ActivationTensors* again_rows) {
  if (context.batch.recomputation.policy == RecomputePolicy::kFull) {
    return AllAgain(context, place, again_rows);
  }
  LayerSteps steps = {.again_rows = again_rows};
  ActivationList list(context, nullptr, &steps);
  list.GoTo(place);
  AddLayerRows(context.spec.layer_kinds[static_cast<size_t>(place.layer_kind)], list);
  return steps;
}

int64_t HeldFrom(const BytesByPosition& bytes, size_t index) {
  return std::accumulate(bytes.begin() + static_cast<std::ptrdiff_t>(index), bytes.end(),
                         int64_t{0});
}

void BackwardPeak::Begin(const BackwardPosition& position) {
  End();
  begun_ = true;
  ++count_;
  index_ = position.index();
  made_ = 0;
  for (; seen_ < index_; ++seen_) {
    again_ -= steps_.again[seen_];
    freed_ += steps_.kept[seen_];
  }
}

void BackwardPeak::End() {
  if (!begun_ || list_ != nullptr) return;
  begun_ = false;
  const CheckedInt added = made_ + again_;
  // An overflow is passed on, so that the sum reports it.
  const int64_t net = added.ok() ? added.value() - freed_ : std::numeric_limits<int64_t>::max();
  if (best_ != 0 && net <= best_net_) return;
  best_ = count_;
  best_net_ = net;
  best_index_ = index_;
  best_added_ = added;
  best_freed_ = freed_;
}

void BackwardPeak::List(const Transient& transient) {
  if (count_ != listed_) return;
  best_index_ = index_;
  list_->Add(transient);
}

LayerBackward::LayerBackward(const TransientContext& context, const ActivationPlace& place)
    : context_(context),
      place_(place),
      layer_(context.activations.spec.layer_kinds[static_cast<size_t>(place.layer_kind)]),
      sizes_(SizesOf(context, place.part)) {}

void LayerBackward::Walk(BackwardPeak& out) {
  out_ = &out;
  waiting_gradients_ = 0;
  waiting_gate_ = 0;
  const int64_t ranks = context_.activations.tensor_ranks();
  const LayerNorms& norms = layer_.norms;
  if (layer_.feed_forward.has_value() || layer_.experts.has_value()) {
    WalkEnds(Branch::kFeedForward, norms.after_feed_forward);
    if (layer_.feed_forward.has_value()) {
      const FeedForwardSpec& dense = *layer_.feed_forward;
      WalkFeedForward({.features = dense.size / ranks,
                       .gated = dense.kind == FeedForwardKind::kGated,
                       .inner = ActivationSite::kFeedForwardInner},
                      layer_.experts.has_value() ? Branch::kWithExperts : Branch::kFeedForward);
    }
    if (layer_.experts.has_value()) WalkExperts(*layer_.experts);
    // Parallel branches read one norm: the first branch's gradient waits for the second's.
    if (SharesItsInput(layer_)) {
      waiting_gradients_ = 1;
    } else {
      WalkBeforeNorm(Branch::kFeedForward, norms.before_feed_forward);
    }
  }
  if (layer_.cross_attention.has_value()) {
    WalkEnds(Branch::kCrossAttention, norms.after_cross_attention);
    WalkAttention(*layer_.cross_attention, Branch::kCrossAttention);
    WalkBeforeNorm(Branch::kCrossAttention, norms.before_cross_attention);
  }
  if (MixesTokens(layer_)) {
    const bool mixes = layer_.mixer.has_value();
    WalkEnds(mixes ? Branch::kMixer : Branch::kAttention, norms.after_attention);
    if (mixes) WalkBlock(MixerBlock(*layer_.mixer, sizes_.hidden));
    if (mixes && layer_.attention.has_value()) ++waiting_gradients_;
    if (layer_.attention.has_value()) WalkAttention(*layer_.attention, Branch::kAttention);
    waiting_gradients_ = 0;
    waiting_gate_ = 0;
    WalkBeforeNorm(Branch::kAttention, norms.before_attention);
  }
  out.End();
}

// Tensors alive in each step: the gradient of the residual sum, which flows past the branch; input
// gradients that wait for the branch; the gradient of the encoder's output, to which all cross
// attentions add.
void LayerBackward::Start(LayerBranch branch, BackwardStep step) {
  out_->Begin({branch, step});
  const int64_t bytes =
      context_.activations.batch.wide_residual ? kWideBytes : sizes_.compute_bytes;
  out_->Make({.name = "residual_gradient",
              .shape = "b s h",
              .elements = Cut(),
              .element_bytes = bytes,
              .why = "the residual carries it past the branch"},
             bytes);
  if (waiting_gradients_ > 0) {
    Make("waiting_input_gradient", "b s h", Cut() * waiting_gradients_,
         "added to that of the branch in work, which read the same");
  }
  if (!waiting_gate_.ok() || waiting_gate_.value() > 0) {
    Make("output_gate_gradient", "b s g", waiting_gate_, "not yet read by the gate's matrix");
  }
  if (!layer_.cross_attention.has_value()) return;
  const int64_t ranks = sizes_.gathers ? sizes_.tokens / sizes_.sequence_tokens : 1;
  Make("encoder_output_gradient", "b s' h",
       CheckedInt(sizes_.encoder_tokens / ranks) * sizes_.hidden, "all cross attentions add to it");
}

void LayerBackward::WalkEnds(LayerBranch branch, bool norm) {
  if (norm) {
    Start(branch == Branch::kFeedForward ? Branch::kWithExperts : branch, Step::kAfterNorm);
    MakeInputGradient("norm_input_gradient");
  }
  if (!sizes_.dropout) return;
  Start(branch == Branch::kFeedForward ? Branch::kWithExperts : branch, Step::kDropout);
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
  if (layer_.norms.before_sum) MakeInputGradient("norm_input_gradient");
  Make("down_input_gradient", "b s f", features, "made by down");
  MakeWeightGradient({.shape = "h f", .elements = weights, .reads = inner.inner});
  Start(branch, Step::kCore);
  Make("down_input_gradient", "b s f", features, "read by the activation function");
  Make("up_gradient", "b s f", features * inputs, "made by it; of gate and up");
  // The size of its kept operands: the matrices of gate and up run as one.
  Start(branch, Step::kInput);
  Make("up_gradient", "b s f", features * inputs, "read by the matrices; of gate and up");
  MakeBranchInput();
  MakeWeightGradient(
      {.shape = "f h", .elements = weights * inputs, .reads = ActivationSite::kFeedForwardInput});
  if (branch == Branch::kWithExperts) ++waiting_gradients_;
}

// dx of all tokens is computed from a rank's features, then summed over ranks: scattered under
// sequence parallelism, whose ranks gather x once more for dW.
void LayerBackward::MakeBranchInput() {
  MakeInputGradient("branch_input_gradient");
  if (!sizes_.gathers) return;
  Make("gathered_input", "b s h", Whole(), "a rank's weight gradient reads all tokens");
  Make("unreduced_input_gradient", "b s h", Whole(), "a rank's part of the sum, of all tokens");
}

// Shared experts first, then routed ones.
void LayerBackward::WalkExperts(const ExpertsSpec& experts) {
  const int64_t ranks = context_.activations.tensor_ranks();
  if (experts.shared_expert_count > 0) {
    WalkFeedForward({.features = experts.shared_expert_count * experts.shared_expert.size / ranks,
                     .gated = experts.shared_expert.kind == FeedForwardKind::kGated,
                     .inner = ActivationSite::kSharedExpertInner},
                    Branch::kWithExperts);
  }
  WalkRouted(experts);
  waiting_gradients_ = 0;
}

LayerBackward::Routed LayerBackward::RoutedOf(const ExpertsSpec& experts) const {
  const ActivationContext& a = context_.activations;
  const int64_t width = experts.expert.size / ExpertTensorParallelSize(a.layout);
  const CheckedInt slots =
      ExpertSlotsPerSequence(experts, a.layout, a.batch, SequenceLengthOf(a, place_.part)) *
      a.batch.sequence_count;
  const int64_t token = ExpertWidth(experts, sizes_.hidden);
  return {
      .narrow = experts.latent_size > 0,
      .shape = RoutedShape(experts),
      .own = CheckedInt(sizes_.sequence_tokens) * token,
      .received = slots * token,
      .features = slots * width,
      .inputs = experts.expert.kind == FeedForwardKind::kGated ? 2 : 1,
      .weights = CheckedInt(width) * token * (experts.expert_count / a.layout.expert_parallel_size),
      .latent_weights = CheckedInt(experts.latent_size) * sizes_.hidden};
}

// Gradients follow the path of the tokens, to the experts' ranks and back.
void LayerBackward::WalkRouted(const ExpertsSpec& experts) {
  const TokensOnTheirWay tokens = WayOf(experts, context_.activations);
  const Routed routed = RoutedOf(experts);
  const CheckedInt sent = routed.own * tokens.copies;
  if (routed.narrow) WalkExpertSum(routed);
  Start(Branch::kFeedForward, Step::kOutput);
  if (routed.narrow) {
    Make("expert_sum_gradient", "b s l", routed.own, "read by the combination");
  } else {
    MakeRoutedOutputGradient();
  }
  Make("combined_gradient", tokens.shape, sent, tokens.why);
  Make("expert_output_gradient", routed.shape, routed.received, "the same, at the experts' ranks");
  WalkRoutedProducts(routed);
  Start(Branch::kFeedForward, Step::kInput);
  Make("expert_input_gradient", routed.shape, routed.received, "at the experts' ranks");
  Make("dispatched_gradient", tokens.shape, sent, "the same, back at the tokens' ranks");
  if (!routed.narrow) return MakeInputGradient("branch_input_gradient");
  Make("latent_gradient", "b s l", routed.own, "made by the step");
  Start(Branch::kFeedForward, Step::kInput);
  Make("latent_gradient", "b s l", routed.own, "read by expert_latent's down");
  MakeInputGradient("branch_input_gradient");
  MakeWeightGradient({.shape = "l h",
                      .elements = routed.latent_weights,
                      .reads = ActivationSite::kFeedForwardInput});
}

void LayerBackward::WalkExpertSum(const Routed& routed) {
  Start(Branch::kFeedForward, Step::kOutput);
  MakeRoutedOutputGradient();
  Make("expert_sum_gradient", "b s l", routed.own, "made by expert_latent's up");
  MakeWeightGradient(
      {.shape = "h l", .elements = routed.latent_weights, .reads = ActivationSite::kExpertSum});
}

void LayerBackward::WalkRoutedProducts(const Routed& routed) {
  const CheckedInt features = routed.features;
  Start(Branch::kFeedForward, Step::kOutput);
  Make("expert_output_gradient", routed.shape, routed.received, "read by down");
  Make("down_input_gradient", "b s k f", features, "made by down");
  MakeWeightGradient(
      {.shape = "E h f", .elements = routed.weights, .reads = ActivationSite::kExpertInner});
  Start(Branch::kFeedForward, Step::kCore);
  Make("down_input_gradient", "b s k f", features, "read by the activation function");
  Make("up_gradient", "b s k f", features * routed.inputs, "made by it; of gate and up");
  Start(Branch::kFeedForward, Step::kInput);
  Make("up_gradient", "b s k f", features * routed.inputs, "read by the matrices; of gate and up");
  Make("expert_input_gradient", routed.shape, routed.received, "made by them");
  MakeWeightGradient({.shape = "E f h",
                      .elements = routed.weights * routed.inputs,
                      .reads = ActivationSite::kExpertInput});
}

// The gradient of the routed experts' sum, at the residual's width.
void LayerBackward::MakeRoutedOutputGradient() {
  if (layer_.norms.after_feed_forward || sizes_.dropout) {
    MakeInputGradient("branch_output_gradient");
  }
  if (layer_.norms.before_sum) MakeInputGradient("norm_input_gradient");
}

}  // namespace sextant
