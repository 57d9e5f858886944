// The activations that one micro-batch leaves on one GPU for its backward pass, tensor by tensor.
#ifndef SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATIONS_H_
#define SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATIONS_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "engine/base/units.h"
#include "engine/memory/activations/activation_list.h"
#include "engine/memory/activations/activation_tensor.h"
#include "engine/memory/activations/layer_table.h"
#include "engine/model/sharding/layer_placement.h"
#include "engine/model/trace/micro_batch.h"

namespace sextant {

inline constexpr int64_t kAllChunks = -1;

// A chunk of a stage; kAllChunks: all chunks of the stage.
struct StageChunk {
  int64_t stage = 0;
  int64_t chunk = kAllChunks;
};

// The layers of a stage, or of one of its chunks. Time is linear in their pieces, times the
// logarithm where kinds are mixed; a few pieces allocate nothing.
class ChunkLayers {
 public:
  ChunkLayers(const ActivationContext& context, const LayerPlacement& placement,
              const StageChunk& where)
      : context_(context), placement_(placement), where_(where) {}

  // Calls visit(const ActivationPlace&) for all layers that are alike, which are the place's
  // `layers`: encoder before decoder, by kind, by gradient state. Without a flow all layers of a
  // kind have the same.
  template <typename Visit>
  void ForEachAlike(const Visit& visit) const {
    if (context_.flow == nullptr && has_whole_stage()) {
      for (const StageKind& kind : placement_.KindsOn(where_.stage)) {
        visit(ActivationPlace{
            .part = kind.part, .layer_kind = kind.layer_kind, .layers = kind.layers.count});
      }
      return;
    }
    const Groups groups = SortedGroups();
    for (auto next = groups.begin(); next != groups.end();) {
      ActivationPlace place = PlaceOf(*next);
      for (++next; next != groups.end() && next->IsOf(place); ++next) place.layers += next->count;
      visit(place);
    }
  }

  // Counts the kept inputs of blocks of `layers_per_block` recomputed layers; blocks end at the
  // end of a chunk or stack. Blocks with no gradient needed after them keep none.
  int64_t BlocksOf(ModelPart part, int64_t layers_per_block) const;

  // Layers of the longest run of `part` in a chunk.
  int64_t LongestOf(ModelPart part) const;

 private:
  // Layers of one piece that need the same gradients.
  struct Group {
    ModelPart part = ModelPart::kDecoder;
    int layer_kind = 0;
    LayerGradientState state = {};
    int64_t count = 0;

    bool IsOf(const ActivationPlace& place) const {
      return part == place.part && layer_kind == place.layer_kind &&
             state.frozen == place.state.frozen &&
             state.input_needs_gradient == place.state.input_needs_gradient;
    }
  };
  using Groups = absl::InlinedVector<Group, 16>;

  bool has_whole_stage() const {
    return where_.chunk == kAllChunks || context_.layout.virtual_stage_count == 1;
  }
  Groups SortedGroups() const;
  void AddGroups(const LayerPiece& piece, Groups& out) const;
  ActivationPlace PlaceOf(const Group& group) const;
  // Layers of `part` in chunk `chunk`, counted from the first layer of the stack.
  LayerRange RangeOf(ModelPart part, int64_t chunk) const;
  int64_t first_chunk() const { return where_.chunk == kAllChunks ? 0 : where_.chunk; }
  int64_t end_chunk() const {
    return where_.chunk == kAllChunks ? context_.layout.virtual_stage_count : where_.chunk + 1;
  }

  const ActivationContext& context_;
  const LayerPlacement& placement_;
  const StageChunk where_;
};

// For the functions below, `rows` receives the tensors whose sum is exactly the result, each
// multiplied by its layers; null: nothing is allocated. docs/memory.md, "A layer", has the table of
// tensors and its sources.
//
// Errors of all of them: kInvalidArgument "layout.micro_batch_size" where the sum exceeds 9.2e18
// bytes.

// The bytes that a stage or a chunk keeps, by place.
struct StageParts {
  Bytes embedding = Bytes(0);
  Bytes layers = Bytes(0);  // with the final norm, and an encoder output that others read
  Bytes output = Bytes(0);  // final norm, output transform, head, loss, multi-token prediction

  Bytes total() const { return embedding + layers + output; }
};

// The bytes that one layer keeps, in total and by the step that frees them.
struct LayerWalk {
  CheckedInt kept = 0;
  LayerSteps steps;
};

// Caches the kept bytes of a job's layers across stages and chunks.
class LayerWalks {
 public:
  // Without full recomputation. `alike_kinds`: LayerTable's.
  explicit LayerWalks(absl::Span<const int> alike_kinds = {})
      : known_(alike_kinds), awaiting_(alike_kinds) {}

  // The walk of one layer at `place`. Valid until the next call.
  const LayerWalk& Of(const ActivationContext& context, const ActivationPlace& place);
  // The bytes of one layer that wait for its weight gradients; `context` keeps all.
  CheckedInt AwaitingOf(const ActivationContext& context, const ActivationPlace& place);
  // Layers computed so far.
  int64_t computed() const { return computed_; }

 private:
  struct Awaiting {
    CheckedInt bytes = 0;
  };

  LayerTable<LayerWalk> known_;
  LayerTable<Awaiting> awaiting_;
  int64_t computed_ = 0;
};

// Bytes of everything in one chunk of a stage, or in all: layers, embedding, final norm, head,
// loss, multi-token prediction. `placement` is the context's model under its layout. The chunks add
// up exactly to the stage. Time is linear in the kinds of layers in the chunks, not in the layers.
absl::StatusOr<StageParts> ChunkActivations(const ActivationContext& context,
                                            const LayerPlacement& placement,
                                            const StageChunk& where,
                                            ActivationTensors* rows = nullptr);

// The bytes of a chunk's micro-batch that are alive between the two halves of a split backward
// pass: inputs of matrices, kept or recomputed, and gradients of their outputs.
// Derivation: docs/memory_transients.md, "Between the halves of a backward pass".
absl::StatusOr<StageParts> AwaitingActivations(const ActivationContext& context,
                                               const LayerPlacement& placement,
                                               const StageChunk& where,
                                               ActivationTensors* rows = nullptr);

// Sums for several chunks of one job; layers that are alike are added up once.
absl::StatusOr<StageParts> ChunkActivations(const ActivationContext& context,
                                            const LayerPlacement& placement,
                                            const StageChunk& where, LayerWalks& walks);
absl::StatusOr<StageParts> AwaitingActivations(const ActivationContext& context,
                                               const LayerPlacement& placement,
                                               const StageChunk& where, LayerWalks& walks);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATIONS_H_
