#include "engine/memory/transients/layer_steps.h"

#include <cstddef>
#include <numeric>

#include "engine/memory/activations/layer_rows.h"

namespace sextant {
namespace {

// Where the layer's own input is freed, which the forward pass goes through first.
BackwardMoment InputMomentOf(const LayerSpec& layer) {
  const auto at = [](LayerBranch branch, bool normed) {
    return BackwardMoment{branch, normed ? BackwardStep::kBeforeNorm : BackwardStep::kInput};
  };
  if (layer.attention.has_value()) {
    return at(LayerBranch::kAttention, layer.norms.before_attention);
  }
  if (layer.cross_attention.has_value()) {
    return at(LayerBranch::kCrossAttention, layer.norms.before_cross_attention);
  }
  return at(LayerBranch::kFeedForward, layer.norms.before_feed_forward);
}

// Full recomputation. The layer's input is what its first norm, or its first matrix, keeps: the
// same tensor, unless a matrix keeps it narrower.
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
  const size_t moment = InputMomentOf(layer).index();
  const bool same = out.again[moment] >= input.value();
  out.all = out.all + input;
  out.kept[moment] = input.value();
  if (!same || !out.all.ok()) return out;
  out.again[moment] -= input.value();
  if (again_rows != nullptr) again_rows->erase(again_rows->begin());
  return out;
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

int64_t HeldFrom(const BytesByMoment& bytes, size_t moment) {
  return std::accumulate(bytes.begin() + static_cast<std::ptrdiff_t>(moment), bytes.end(),
                         int64_t{0});
}

}  // namespace sextant
