#include "engine/memory/transients/layer_steps.h"

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
  LayerSteps out = {.again = held.kept, .any_again = true};
  if (!list.Needs(ActivationSite::kLayerOutput)) return out;

  LayerSteps input;
  ActivationList inputs(context, nullptr, &input);
  inputs.GoTo(place);
  AddLayerInputRow(inputs);
  const size_t moment = InputMomentOf(layer).index();
  CheckedInt& again = out.again[moment].value;
  const bool same = again.ok() && again.value() >= inputs.total().value();
  out.kept[moment].value = inputs.total();
  if (!same) return out;
  again = again + inputs.total() * -1;
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

CheckedInt HeldFrom(const BytesByMoment& bytes, size_t moment) {
  CheckedInt sum = 0;
  for (size_t i = moment; i < bytes.size(); ++i) sum = sum + bytes[i].value;
  return sum;
}

CheckedInt FreedBefore(const BytesByMoment& bytes, size_t moment) {
  CheckedInt sum = 0;
  for (size_t i = 0; i < moment; ++i) sum = sum + bytes[i].value;
  return sum;
}

}  // namespace sextant
