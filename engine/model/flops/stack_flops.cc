#include "engine/model/flops/stack_flops.h"

#include <array>

#include "absl/container/inlined_vector.h"

namespace sextant {
namespace {

using Tensors = absl::Span<const WeightTensor>;

// The layers of one kind, by whether they are frozen and whether their input needs a gradient.
struct KindLayers {
  Tensors tensors = {};
  std::array<bool, 2> train = {};  // whether a gradient starts from such a layer, by frozen
  std::array<std::array<int64_t, 2>, 2> layers = {};
};

class StackCount {
 public:
  StackCount(const ModelFlopsContext& context, const StackInput& input, Tensors& rest)
      : context_(context),
        input_(input),
        ends_(TakeGroup(input.part, false, rest)),
        scores_bias_trained_(Trains(ends_, "relative_position_bias", "")),
        kinds_(context.spec.layer_kinds.size()) {
    while (!rest.empty() && rest[0].part == input.part) {
      KindLayers& kind = kinds_[static_cast<size_t>(rest[0].layer_kind)];
      kind.tensors = TakeGroup(input.part, true, rest);
    }
  }

  bool Add() {
    const bool encoder = input_.part == ModelPart::kEncoder && HasTwoStacks(context_.spec);
    context_.tally.GoTo(input_.part, -1);
    for (const WeightTensor& tensor : ends_) {
      AddLookup(tensor, encoder ? context_.shares.encoder_tokens() : 1, context_.tally);
    }
    for (size_t kind = 0; kind < kinds_.size(); ++kind) SetWhatTrains(static_cast<int>(kind));
    const bool needs = SortLayers();
    for (size_t kind = 0; kind < kinds_.size(); ++kind) AddKind(static_cast<int>(kind));
    return needs || Trains(ends_, "norm", "final");
  }

 private:
  void SetWhatTrains(int kind) {
    KindLayers& layers = kinds_[static_cast<size_t>(kind)];
    if (layers.tensors.empty()) return;
    LayerGroup group = {.layer = context_.spec.layer_kinds[static_cast<size_t>(kind)],
                        .tensors = layers.tensors};
    SetGradients(group);
    for (const bool frozen : {false, true}) {
      layers.train[frozen] = OutputNeedsGradient(group, {.layers = 1, .frozen = frozen});
    }
  }

  void SetGradients(LayerGroup& group) const {
    group.scores_bias_trained = scores_bias_trained_;
    group.encoder_output_needs_gradient = input_.encoder_output_needs_gradient;
  }

  // Counts layers by state, run after run: once a gradient is needed, whatever follows needs one.
  // Returns whether what comes out of the last layer does.
  bool SortLayers() {
    bool needs = input_.embedding_needs_gradient || Trains(ends_, "position_embedding", "") ||
                 Trains(ends_, "norm", "embedding");
    const StackSpec& stack =
        input_.part == ModelPart::kEncoder ? context_.spec.encoder : context_.spec.decoder;
    for (const LayerRun& run : stack.layers) {
      KindLayers& kind = kinds_[static_cast<size_t>(run.layer_kind)];
      const bool trains = kind.train[run.frozen];
      const int64_t without = needs ? 0 : trains ? 1 : run.count;
      kind.layers[run.frozen][false] += without;
      kind.layers[run.frozen][true] += run.count - without;
      needs = needs || trains;
    }
    return needs;
  }

  void AddKind(int kind) {
    const KindLayers& layers = kinds_[static_cast<size_t>(kind)];
    if (layers.tensors.empty()) return;
    LayerGroup group = LayerGroupOf(context_, input_.part, kind, layers.tensors);
    SetGradients(group);
    context_.tally.GoTo(input_.part, kind);
    for (const bool frozen : {false, true}) {
      for (const bool needs : {false, true}) {
        const int64_t count = layers.layers[frozen][needs];
        if (count > 0) AddLayerFlops(group, {count, frozen, needs}, context_.tally);
      }
    }
  }

  const ModelFlopsContext& context_;
  const StackInput& input_;
  const Tensors ends_;
  const bool scores_bias_trained_;
  absl::InlinedVector<KindLayers, 8> kinds_;
};

}  // namespace

bool AddStackFlops(const ModelFlopsContext& context, const StackInput& input, Tensors& rest) {
  return StackCount(context, input, rest).Add();
}

}  // namespace sextant
