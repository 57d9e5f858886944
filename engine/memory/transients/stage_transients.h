// The transient memory of a pipeline stage: at the loss, in the backward passes of the output head
// and the layers, and in the layers' forward pass. docs/memory_transients.md, "Phases of a stage",
// derives it.
#ifndef SEXTANT_ENGINE_MEMORY_TRANSIENTS_STAGE_TRANSIENTS_H_
#define SEXTANT_ENGINE_MEMORY_TRANSIENTS_STAGE_TRANSIENTS_H_

#include <array>
#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/units.h"
#include "engine/memory/activations/activations.h"
#include "engine/memory/transients/layer_transients.h"
#include "engine/memory/transients/transient_list.h"

namespace sextant {

enum class StagePhase {
  kForward,  // of the layer that makes the most beyond what it keeps
  kLoss,     // with its backward pass; last stage only
  kHead,     // the backward pass of the output head; last stage only
  kLayer,    // the backward step with the most bytes, over all layers
};
inline constexpr int kStagePhaseCount = 4;

// In a phase the GPU holds model state, all other micro-batches in flight, the bytes kept by the
// micro-batch in work (ChunkActivations() of all its chunks) minus `freed`, and `added`.
struct PhaseBytes {
  Bytes added = Bytes(0);
  Bytes freed = Bytes(0);  // or not made yet
  bool happens = false;    // the stage has such a phase
};

struct StageTransients {
  std::array<PhaseBytes, kStagePhaseCount> phases;
  Bytes receive_buffers = Bytes(0);  // of a pipeline, in every phase

  const PhaseBytes& At(StagePhase phase) const { return phases[static_cast<size_t>(phase)]; }
};

// `kept` is ChunkActivations() of the stage's last chunk, or of the stage. Time is ChunkLayers' of
// the stage. Only `kept.output` matters, so the chunks of a stage with equal ones share a result.
//
// Errors: kInvalidArgument "layout.micro_batch_size" where a sum exceeds 9.2e18 bytes.
absl::StatusOr<StageTransients> StageTransientsOf(const TransientContext& context, int64_t stage,
                                                  const StageParts& kept);

// The same for several stages of one job: the transients of their layers are computed once.
absl::StatusOr<StageTransients> StageTransientsOf(const TransientContext& context, int64_t stage,
                                                  const StageParts& kept, LayerCosts& costs);

// Appends rows that add up to `added` of `phase`, and those of the receive buffers.
void AppendTransientRows(const TransientContext& context, int64_t stage, StagePhase phase,
                         const StageParts& kept, LedgerRows& rows);
void AppendTransientRows(const TransientContext& context, int64_t stage, StagePhase phase,
                         const StageParts& kept, LayerCosts& costs, LedgerRows& rows);
void AppendReceiveBufferRows(const TransientContext& context, int64_t stage, LedgerRows& rows);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_TRANSIENTS_STAGE_TRANSIENTS_H_
