// What one micro-batch leaves on one GPU for its backward pass, tensor by tensor.
#ifndef SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATIONS_H_
#define SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATIONS_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "engine/base/units.h"
#include "engine/memory/activations/activation_list.h"
#include "engine/memory/activations/activation_tensor.h"
#include "engine/memory/activations/chunk_layers.h"
#include "engine/memory/activations/micro_batch.h"
#include "engine/model/sharding/layer_placement.h"

namespace sextant {

// Below, `rows` gets the tensors that the result is exactly the sum of, each times its layers;
// null: nothing is allocated. docs/memory.md has the table of tensors and its sources.
//
// Errors, of all of them: kInvalidArgument "micro_batch" where the sum exceeds 9.2e18 bytes.

// Of one layer of the kind at `layer_kind`, in the encoder or the decoder, under the batch's
// recomputation.
absl::StatusOr<Bytes> LayerActivations(const ActivationContext& context, ModelPart part,
                                       int layer_kind, ActivationTensors* rows = nullptr);

// What such a layer makes again in its backward pass and holds while that runs, on top of what it
// kept: nothing without recomputation.
absl::StatusOr<Bytes> RecomputedByLayer(const ActivationContext& context, ModelPart part,
                                        int layer_kind);

// Of all that stands on `stage`: layers, embedding, final norm, head, loss, multi-token prediction.
// `placement` is the context's model under its layout. Costs as many steps as there are kinds of
// layers and virtual stages, not layers.
absl::StatusOr<Bytes> StageActivations(const ActivationContext& context,
                                       const LayerPlacement& placement, int64_t stage,
                                       ActivationTensors* rows = nullptr);

// What a stage or a chunk of it keeps, by place.
struct StageParts {
  Bytes embedding = Bytes(0);
  Bytes layers = Bytes(0);  // with the final norm and the output of an encoder that others read
  Bytes output = Bytes(0);  // final norm, output transform, head, loss, multi-token prediction

  Bytes total() const { return embedding + layers + output; }
};

// What one layer keeps, in all and by when it is freed.
struct LayerWalk {
  ActivationPlace place;
  CheckedInt kept = 0;
  LayerSteps steps;
};

// Remembers what layers of a job keep from one stage or chunk to the next.
class LayerWalks {
 public:
  // Of one layer at `place`, not under full recomputation. It is good until the next call.
  const LayerWalk& Of(const ActivationContext& context, const ActivationPlace& place);

 private:
  static constexpr size_t kMost = 8;  // more are walked again: nothing is allocated
  absl::InlinedVector<LayerWalk, kMost> known_;
  LayerWalk beyond_;
};

// The same of one chunk of a stage, or of all: chunks add up exactly to the stage. Of one chunk a
// stage it costs no more.
absl::StatusOr<StageParts> ChunkActivations(const ActivationContext& context,
                                            const LayerPlacement& placement,
                                            const StageChunk& where,
                                            ActivationTensors* rows = nullptr);

// What of a chunk's micro-batch is there from the first half of a backward pass that is split until
// the second: inputs of matrices, whether kept or computed again, and gradients of their outputs.
// docs/memory_transients.md derives it.
absl::StatusOr<StageParts> AwaitingActivations(const ActivationContext& context,
                                               const LayerPlacement& placement,
                                               const StageChunk& where,
                                               ActivationTensors* rows = nullptr);

// Sums of several chunks of one job, whose layers are added up once.
absl::StatusOr<StageParts> ChunkActivations(const ActivationContext& context,
                                            const LayerPlacement& placement,
                                            const StageChunk& where, LayerWalks& walks);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATIONS_H_
