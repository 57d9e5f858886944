// Adds up what the GPUs of one stage hold at their peak, and lists it.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_STAGE_LEDGER_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_STAGE_LEDGER_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/memory/activations/activations.h"
#include "engine/memory/activations/gradient_flow.h"
#include "engine/memory/ledger/framework_copies.h"
#include "engine/memory/ledger/job_spec.h"
#include "engine/memory/ledger/stage_memory.h"
#include "engine/memory/ledger_row.h"
#include "engine/memory/schedule/in_flight.h"
#include "engine/memory/state/stage_state.h"
#include "engine/memory/transients/stage_transients.h"
#include "engine/model/sharding/sharded_weights.h"

namespace sextant {

// A checked job, prepared. `flow` is null where everything is trained.
struct LedgerContext {
  const ArchitectureSpec& spec;
  const JobSpec& job;
  const ShardedWeights& weights;
  const InFlight& in_flight;
  const GradientFlow* flow;
  const StateRules& state_rules;
};

// What a moment of a chunk adds to state and activations in flight, and where it is reached.
struct ChunkWork {
  StageMoment moment = StageMoment::kLayer;
  Bytes net = Bytes(0);
  bool happens = false;
};

// One of the chunks that a stage works on.
struct ChunkMemory {
  StageChunk where;
  bool last = false;      // of the model
  StageParts parts = {};  // of one micro-batch
  // Of one that waits for its weights' gradients, where backward passes are split.
  StageParts awaiting = {};
  StageTransients transients = {};
  ChunkWork worst = {};
};

// What stages have, whichever stage of several alike it is and however many micro-batches it holds.
struct StageContent {
  StageState state;
  absl::InlinedVector<ChunkMemory, 8> chunks;
  absl::InlinedVector<ChunkBytes, 8> weights;  // of `chunks`
  FrameworkCopies copies;
  Bytes reduce_bucket = Bytes(0);
  Bytes gather_bucket = Bytes(0);
};

class StageLedger {
 public:
  explicit StageLedger(const LedgerContext& context);
  StageLedger(const StageLedger&) = delete;  // its members point at one another
  StageLedger& operator=(const StageLedger&) = delete;

  // What `stage` has, to `out`, whose memory is used again. `costs` are of this job.
  // Errors: kInvalidArgument where a sum exceeds 9.2e18 bytes.
  absl::Status Fill(int64_t stage, LayerCosts& costs, StageContent& out) const;

  // What a stage with `content` holds at `peak`, which is InFlight::Peak() of its chunks' weights.
  // Of stages with the same content, more in flight is more in all, unless the peak is in the
  // optimizer step. Without the framework's reserve: AddReserve() adds it.
  StageMemory MemoryOf(const StageContent& content, const InFlightPeak& peak) const;

  // Appends the rows that add up to `memory`, the peak of `stage`.
  absl::Status Append(int64_t stage, const StageContent& content, const StageMemory& memory,
                      LedgerRows& rows) const;

 private:
  // The stage whose layers the `chunk`th chunk of `stage` has.
  int64_t StageOfChunk(int64_t stage, int64_t chunk) const;
  absl::Status AddChunk(const StageChunk& of, LayerCosts& costs, StageContent& out) const;
  void AddBuckets(int64_t stage, StageContent& out) const;
  MomentBytes BytesAt(const ChunkMemory& chunk, StageMoment moment) const;
  ChunkWork WorstOf(const ChunkMemory& chunk, const StageContent& content) const;
  // Of the chunk in work at `moment`; nothing where that waits only for weights' gradients, or has
  // no layers.
  static ChunkWork WorkOf(const InFlightMoment& moment, const StageContent& content) {
    if (moment.begins == ScheduleWork::kWeightGradient) return {};
    return content.chunks[static_cast<size_t>(moment.chunk)].worst;
  }
  // Beside the micro-batches: what of the state is whole, cast, or being sent, at `moment`.
  Bytes BesideAt(StageMoment moment, const StageContent& content) const;
  Bytes GradientsAt(PeakMoment moment, const StageContent& content) const;
  bool gradients_wait() const;  // for a later backward pass, before they have memory
  bool drops_gradients(PeakMoment moment) const {
    return gradients_wait() && moment != PeakMoment::kOptimizerStep;
  }
  // Of a step's only micro-batch gradients are computed behind all other moments.
  bool has_computed_gradients(PeakMoment moment) const {
    return moment == PeakMoment::kOptimizerStep || context_.job.pipeline.micro_batch_count > 1;
  }
  // What makes transients at the peak; absent where nothing does.
  absl::optional<StageMoment> WorkingMoment(const StageContent& content,
                                            const StageMemory& memory) const;
  absl::Status AppendState(int64_t stage, const StageMemory& memory,
                           const absl::optional<StageMoment>& moment, LedgerRows& rows) const;
  void AppendCopies(int64_t stage, const StageMemory& memory,
                    const absl::optional<StageMoment>& moment, LedgerRows& rows) const;
  absl::Status AppendActivations(const StageContent& content, const StageMemory& memory,
                                 LedgerRows& rows) const;

  LedgerContext context_;
  StageStateContext state_context_;
  CopiesContext copies_;
  ActivationContext activations_;
  BufferSpec buffers_;  // as transients see them
  TransientContext transients_;
};

// Of the stages whose layers the chunks have, the one that receives the most: a stage of both ends
// of a pipeline receives into the same buffers.
int64_t StageWithMostReceived(const StageContent& content);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_STAGE_LEDGER_H_
