#include "engine/memory/transients/stage_transients.h"

#include <algorithm>

#include "engine/base/field_violation.h"
#include "engine/memory/transients/end_transients.h"
#include "engine/memory/transients/layer_transients.h"

namespace sextant {
namespace {

class StagePhases {
 public:
  StagePhases(const TransientContext& context, int64_t stage)
      : context_(context),
        last_(stage == context.placement.stage_count() - 1),
        layers_(context.activations, context.placement, {.stage = stage}) {}

  bool is_last() const { return last_; }

  // The number of layers that are recomputed together.
  int64_t BlockOf(ModelPart part) const {
    const Recomputation& again = context_.activations.batch.recomputation;
    if (again.policy != RecomputePolicy::kFull || again.layers_per_block == 1) return 1;
    if (part == ModelPart::kMultiTokenPrediction) return 1;
    return std::clamp<int64_t>(again.layers_per_block, 1,
                               std::max<int64_t>(layers_.LongestOf(part), 1));
  }

  // The layers with the most bytes in their backward pass, after everything that follows the
  // layers is freed, and in their forward pass.
  struct Largest {
    LayerPeak backward;
    ActivationPlace forward_place = {.layer_kind = -1};
    CheckedInt forward = 0;
  };
  Largest LargestOf(const StageParts& kept, LayerCosts& costs) const {
    const CheckedInt gone =
        last_ ? CheckedInt(kept.output.value()) + OutputThatStays(context_) * -1 : CheckedInt(0);
    Largest best;
    const int64_t encoder_block = BlockOf(ModelPart::kEncoder);
    const int64_t decoder_block = BlockOf(ModelPart::kDecoder);
    ForEachPlace([&](const ActivationPlace& place) {
      const LayerCost& cost = costs.Of(context_, place);
      if (best.forward_place.layer_kind < 0 || !cost.forward.ok() ||
          cost.forward.value() > best.forward.value()) {
        best.forward_place = place;
        best.forward = cost.forward;
      }
      if (!cost.goes_back) return;
      const int64_t block = place.part == ModelPart::kEncoder   ? encoder_block
                            : place.part == ModelPart::kDecoder ? decoder_block
                                                                : 1;
      LayerPeak peak = cost.BackwardOfBlock(block);
      peak.place = place;
      TakeBackward(peak, gone, best.backward);
    });
    return best;
  }

 private:
  // A module's layer runs backward before the main model's head and layers do.
  void TakeBackward(LayerPeak peak, CheckedInt gone, LayerPeak& best) const {
    const bool module = peak.place.part == ModelPart::kMultiTokenPrediction;
    peak.freed = peak.freed + (module ? FreedBehindLoss(context_) : gone);
    if (best.place.layer_kind < 0 || NetOf(peak) > NetOf(best)) best = peak;
  }
  static int64_t NetOf(const LayerPeak& peak) { return peak.added.value() - peak.freed.value(); }

  template <typename Visit>
  void ForEachPlace(const Visit& visit) const {
    layers_.ForEachAlike([&visit](ActivationPlace place) {
      place.layers = 1;
      visit(place);
    });
    const ActivationContext& a = context_.activations;
    if (!last_ || !a.spec.multi_token_prediction.has_value()) return;
    const bool needs = a.flow == nullptr || a.flow->modules().layer_input;
    visit(PlaceOf(ModelPart::kMultiTokenPrediction, a.spec.multi_token_prediction->layer_kind,
                  {.input_needs_gradient = needs}));
  }

  ActivationPlace PlaceOf(ModelPart part, int kind, const LayerGradientState& state) const {
    const GradientFlow* flow = context_.activations.flow;
    return {.part = part,
            .layer_kind = kind,
            .gradients = flow == nullptr ? nullptr : &flow->Of(part, kind, state),
            .state = state};
  }

  const TransientContext& context_;
  const bool last_;
  const ChunkLayers layers_;
};

// Converts sums and remembers an overflow.
class PhaseWriter {
 public:
  explicit PhaseWriter(StageTransients& out) : out_(out) {}

  void Put(StagePhase phase, CheckedInt added, CheckedInt freed) {
    ok_ = ok_ && added.ok() && freed.ok();
    out_.phases[static_cast<size_t>(phase)] = {
        .added = Bytes(added.value()), .freed = Bytes(freed.value()), .happens = true};
  }
  void PutBuffers(CheckedInt bytes) {
    ok_ = ok_ && bytes.ok();
    out_.receive_buffers = Bytes(bytes.value());
  }
  bool ok() const { return ok_; }

 private:
  StageTransients& out_;
  bool ok_ = true;
};

}  // namespace

absl::StatusOr<StageTransients> StageTransientsOf(const TransientContext& context, int64_t stage,
                                                  const StageParts& kept) {
  LayerCosts costs;
  return StageTransientsOf(context, stage, kept, costs);
}

absl::StatusOr<StageTransients> StageTransientsOf(const TransientContext& context, int64_t stage,
                                                  const StageParts& kept, LayerCosts& costs) {
  StageTransients out;
  PhaseWriter writer(out);
  const StagePhases phases(context, stage);
  const int64_t output = phases.is_last() ? kept.output.value() : 0;
  if (phases.is_last()) {
    TransientList loss(context);
    AddLossTransients(context, loss);
    writer.Put(StagePhase::kLoss, loss.total(), 0);
    TransientList head(context);
    AddHeadTransients(context, head);
    writer.Put(StagePhase::kHead, head.total(), FreedBehindLoss(context));
  }
  const auto largest = phases.LargestOf(kept, costs);
  const LayerPeak& layer = largest.backward;
  if (layer.place.layer_kind >= 0) writer.Put(StagePhase::kLayer, layer.added, layer.freed);
  if (largest.forward_place.layer_kind >= 0) {
    writer.Put(StagePhase::kForward, largest.forward, output);
  }
  writer.PutBuffers(AddReceiveBuffers(context, stage, nullptr));
  if (writer.ok()) return out;
  return InvalidField("layout.micro_batch_size", "makes more than 9.2e18 bytes on a GPU at a time");
}

void AppendTransientRows(const TransientContext& context, int64_t stage, StagePhase phase,
                         const StageParts& kept, LedgerRows& rows) {
  LayerCosts costs;
  AppendTransientRows(context, stage, phase, kept, costs, rows);
}

void AppendTransientRows(const TransientContext& context, int64_t stage, StagePhase phase,
                         const StageParts& kept, LayerCosts& costs, LedgerRows& rows) {
  TransientList list(context, &rows);
  const StagePhases phases(context, stage);
  switch (phase) {
    case StagePhase::kLoss:
      if (phases.is_last()) AddLossTransients(context, list);
      return;
    case StagePhase::kHead:
      if (phases.is_last()) AddHeadTransients(context, list);
      return;
    case StagePhase::kLayer: {
      const LayerPeak peak = phases.LargestOf(kept, costs).backward;
      if (peak.place.layer_kind < 0) return;
      return ListBackward(context, peak, phases.BlockOf(peak.place.part), list);
    }
    case StagePhase::kForward: {
      const ActivationPlace place = phases.LargestOf(kept, costs).forward_place;
      if (place.layer_kind >= 0) ListForward(context, place, list);
      return;
    }
  }
}

void AppendReceiveBufferRows(const TransientContext& context, int64_t stage, LedgerRows& rows) {
  AddReceiveBuffers(context, stage, &rows);
}

}  // namespace sextant
