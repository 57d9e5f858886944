#include "engine/memory/transients/layer_transients.h"

#include <algorithm>
#include <array>

#include "engine/memory/activations/layer_rows.h"
#include "engine/memory/transients/layer_backward.h"

namespace sextant {
namespace {

const LayerSpec& LayerAt(const TransientContext& context, const ActivationPlace& place) {
  return context.activations.spec.layer_kinds[static_cast<size_t>(place.layer_kind)];
}

// Shared experts count as part of their feed-forward.
constexpr size_t kForwardBranchCount = kLayerBranchCount - 1;
constexpr size_t kCrossBranch = 1;
constexpr size_t kMixerBranch = 2;
size_t ForwardBranchOf(size_t index) {
  const size_t branch = index / kBackwardStepCount;
  return branch == 0 ? 0 : branch - 1;
}

CheckedInt ScoresOf(const TransientContext& context, const ActivationPlace& place, size_t branch) {
  const ActivationContext& a = context.activations;
  const LayerSpec& layer = LayerAt(context, place);
  const bool cross = branch == kCrossBranch;
  const auto& attention = cross ? layer.cross_attention : layer.attention;
  if (branch == 0 || branch == kMixerBranch || !attention.has_value()) return 0;
  if (a.batch.attention == AttentionKernel::kFlash) return 0;
  const int64_t keys = SequenceLengthOf(a, cross ? ModelPart::kEncoder : place.part);
  return CheckedInt(HeadsOfRank(*attention, a.layout).query) * TokensOf(a, place.part) * keys;
}

// The operands of a branch's attention that context parallel ranks exchange, as they are made, and
// the copies of them that are sent: one at a time where each exchange is an operation of its own,
// all of them where attention is one with its exchanges, with the one that is being received.
// Source: docs/memory_transients.md, "Exchanges of heads".
CheckedInt ExchangedOf(const TransientContext& context, const ActivationPlace& place,
                       size_t branch) {
  const ActivationContext& a = context.activations;
  const LayerSpec& layer = LayerAt(context, place);
  const bool cross = branch == kCrossBranch;
  const auto& attention = cross ? layer.cross_attention : layer.attention;
  if (branch == 0 || branch == kMixerBranch || !attention.has_value()) return 0;
  if (!ExchangesHeads(a.batch)) return 0;
  const RankHeads heads = HeadsOfRank(*attention, a.layout);
  const CheckedInt query =
      CheckedInt(heads.query) * attention->query_key_head_size * TokensOf(a, place.part);
  const CheckedInt keys =
      (CheckedInt(attention->query_key_head_size) + attention->value_head_size) *
      TokensOf(a, cross ? ModelPart::kEncoder : place.part);
  const CheckedInt own = query + keys * heads.key;
  if (!ExchangesOutputAgain(a.batch)) return own + query;
  return own + query + keys * AttendedKeyHeads(*attention, a.layout, a.batch) + query;
}

// A layer's hidden elements on this GPU: of all its tokens, and of those divided by sequence
// parallelism.
struct ForwardSizes {
  CheckedInt whole = 0;  // 0: not gathered
  CheckedInt cut = 0;
};

ForwardSizes ForwardSizesOf(const TransientContext& context, const ActivationPlace& place) {
  const ActivationContext& a = context.activations;
  const int64_t ranks = SequenceRanks(a.batch, a.layout);
  const int64_t tokens = TokensOf(a, place.part);
  const CheckedInt hidden = a.spec.hidden_size;
  return {.whole = ranks > 1 ? hidden * tokens : CheckedInt(0), .cut = hidden * (tokens / ranks)};
}

// The elements that a branch's forward pass has beyond those it keeps: at its start or its end, or
// while its heads are exchanged, whichever is more.
struct ForwardEnds {
  CheckedInt elements = 0;
  CheckedInt exchanged = 0;  // of the exchange; 0: there are more at the ends
};

ForwardEnds ForwardEndsOf(const TransientContext& context, const ActivationPlace& place,
                          size_t branch) {
  const ForwardSizes sizes = ForwardSizesOf(context, place);
  const CheckedInt ends = sizes.cut * 2 + sizes.whole + ScoresOf(context, place, branch);
  const CheckedInt exchanged = ExchangedOf(context, place, branch);
  const CheckedInt exchange = sizes.cut + exchanged;
  if (!ends.ok() || !exchange.ok() || exchanged.value() == 0) return {ends + exchange * 0};
  if (exchange.value() <= ends.value()) return {ends};
  return {exchange, exchanged};
}

// The residual and the branch's output. Under sequence parallelism also either the gathered input
// or, of the same size, the output before it is summed and scattered. While heads are exchanged:
// the residual and what the exchange holds.
void AddForwardEnds(const TransientContext& context, const ActivationPlace& place, size_t branch,
                    TransientList& out) {
  const auto [whole, cut] = ForwardSizesOf(context, place);
  out.GoTo({.part = place.part,
            .layer_kind = place.layer_kind,
            .module = "layer",
            .alive = "in the forward pass of a layer"});
  out.Add({.name = "residual", .shape = "b s h", .elements = cut, .why = "the branch adds to it"});
  const CheckedInt exchanged = ForwardEndsOf(context, place, branch).exchanged;
  if (!exchanged.ok() || exchanged.value() > 0) {
    return out.Add({.name = "exchanged_heads",
                    .shape = "b s a d+g(d+v)",
                    .elements = exchanged,
                    .why = "queries, keys and values of own tokens, and copies that are sent"});
  }
  out.Add({.name = "branch_output", .shape = "b s h", .elements = cut, .why = "added to it"});
  out.Add({.name = "gathered_input",
           .shape = "b s h",
           .elements = whole,
           .why = "a rank's features read all tokens, and make a part of all tokens' sums"});
  out.Add({.name = "scores",
           .shape = "b a s s",
           .elements = ScoresOf(context, place, branch),
           .why = "with their softmax"});
}

struct ForwardBranch {
  size_t branch = 0;
  CheckedInt bytes = 0;
};

ForwardBranch LargestForward(const TransientContext& context, const ActivationPlace& place,
                             const LayerSteps& steps) {
  std::array<int64_t, kForwardBranchCount> again = {};
  for (size_t i = 0; steps.any_again && i < steps.again.size(); ++i) {
    again[ForwardBranchOf(i)] += steps.again[i];
  }
  if (!steps.all.ok()) return {.bytes = steps.all};
  ForwardBranch best;
  for (size_t branch = 0; branch < again.size(); ++branch) {
    const CheckedInt elements = ForwardEndsOf(context, place, branch).elements;
    const CheckedInt bytes = elements * ComputeBytesOf(context.activations.batch) + again[branch];
    if (branch > 0 && bytes.ok() && bytes.value() <= best.bytes.value()) continue;
    best = {branch, bytes};
  }
  return best;
}

// True where the layer has a backward pass.
bool GoesBack(const ActivationPlace& place) {
  return place.gradients == nullptr || place.gradients->needs.Has(ActivationSite::kLayerOutput);
}

LayerCost CostOf(const TransientContext& context, const ActivationPlace& place,
                 const LayerSteps& steps) {
  LayerCost out = {.forward = LargestForward(context, place, steps).bytes,
                   .goes_back = GoesBack(place)};
  if (!out.goes_back) return out;
  out.backward = BackwardOf(context, place, steps);
  if (steps.all.ok()) out.recomputed = HeldFrom(steps.again, 0) + HeldFrom(steps.kept, 0);
  return out;
}

}  // namespace

LayerSteps ForwardSteps(const TransientContext& context, const ActivationPlace& place,
                        ActivationTensors* rows) {
  const ActivationContext& a = context.activations;
  if (GoesBack(place)) return LayerStepsOf(a, place, rows);
  MicroBatchSpec again = a.batch;
  again.recomputation = {.policy = RecomputePolicy::kFull};
  const ActivationContext all = {a.spec, a.layout, again};
  ActivationPlace trained = place;
  trained.gradients = nullptr;
  return LayerStepsOf(all, trained, rows);
}

LayerPeak BackwardOf(const TransientContext& context, const ActivationPlace& place,
                     const LayerSteps& steps) {
  if (!steps.all.ok()) return {.place = place, .added = steps.all};
  BackwardPeak peak(steps);
  LayerBackward(context, place).Walk(peak);
  return {.place = place, .number = peak.number(), .added = peak.added(), .freed = peak.freed()};
}

void ListBackward(const TransientContext& context, const LayerPeak& peak, int64_t block_layers,
                  TransientList& out) {
  ActivationTensors rows;
  const LayerSteps steps = LayerStepsOf(context.activations, peak.place, &rows);
  BackwardPeak found(steps);
  LayerBackward walk(context, peak.place);
  walk.Walk(found);
  out.GoTo({.part = peak.place.part,
            .layer_kind = peak.place.layer_kind,
            .module = "layer",
            .alive = "in the backward pass of a layer"});
  for (const ActivationTensor& row : rows) {
    const bool there = row.last_read.index() >= found.index();
    out.AddAgain(row, there ? block_layers : block_layers - 1);
  }
  out.Add({.name = "input",
           .shape = "b s h",
           .elements = HeldFrom(steps.kept, 0) / ComputeBytesOf(context.activations.batch) *
                       (block_layers - 1),
           .why = "of the block's other layers, computed again"});
  BackwardPeak listed(steps, peak.number, out);
  walk.Walk(listed);
}

const LayerCost& LayerCosts::Of(const TransientContext& context, const ActivationPlace& place) {
  if (const LayerCost* known = known_.Find(place); known != nullptr) return *known;
  ++computed_;
  ActivationPlace one = place;
  one.layers = 1;
  // The kept tensors were already walked.
  const bool walked =
      GoesBack(one) && context.activations.batch.recomputation.policy != RecomputePolicy::kFull;
  const LayerCost cost = walked ? CostOf(context, one, walks_.Of(context.activations, one).steps)
                                : CostOf(context, one, ForwardSteps(context, one));
  return known_.Add(place) = cost;
}

void ListForward(const TransientContext& context, const ActivationPlace& place,
                 TransientList& out) {
  ActivationTensors rows;
  const LayerSteps steps = ForwardSteps(context, place, &rows);
  const ForwardBranch best = LargestForward(context, place, steps);
  AddForwardEnds(context, place, best.branch, out);
  for (const ActivationTensor& row : rows) {
    if (ForwardBranchOf(row.last_read.index()) == best.branch) out.AddAgain(row, 1);
  }
}

}  // namespace sextant
