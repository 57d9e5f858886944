// Adds up the memory of one stage's GPUs at their peak, and lists it.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_STAGE_LEDGER_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_STAGE_LEDGER_H_

#include <array>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "engine/base/call_work.h"
#include "engine/base/checked_math.h"
#include "engine/memory/activations/activations.h"
#include "engine/memory/ledger/framework_copies.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/memory/ledger/stage_memory.h"
#include "engine/memory/ledger/standing_buffers.h"
#include "engine/memory/ledger_row.h"
#include "engine/memory/schedule/in_flight.h"
#include "engine/memory/state/stage_state.h"
#include "engine/memory/transients/stage_transients.h"
#include "engine/model/sharding/sharded_weights.h"
#include "engine/model/trace/gradient_flow.h"

namespace sextant {

// A checked job, prepared. `flow` is null where everything is trained.
struct LedgerContext {
  const ArchitectureSpec& spec;
  const MemoryJob& job;
  const ShardedWeights& weights;
  const InFlight& in_flight;
  const GradientFlow* flow;
  const StateRules& state_rules;
  CallWork& work;
};

// The bytes that a phase of a chunk adds to state and activations in flight, and that phase.
struct ChunkWork {
  StagePhase phase = StagePhase::kLayer;
  Bytes net = Bytes(0);
  bool happens = false;
};

// Chunks of a stage in a row that have the same layers.
struct ChunkMemory {
  StageChunk where;   // of the first
  int64_t first = 0;  // its index among the stage's chunks
  int64_t count = 1;
  bool last = false;      // of the model
  StageParts parts = {};  // of one micro-batch
  // A micro-batch that waits for its weight gradients, where backward passes are split.
  StageParts awaiting = {};
  Bytes deferred_head = Bytes(0);   // of a micro-batch that waits for its head's weight gradient
  StageTransients transients = {};  // of the stage
  std::array<PhaseBytes, kStagePhaseCount> phases = {};  // of `transients`, as they are here
  ChunkWork worst = {};                                  // of `phases`

  const PhaseBytes& At(StagePhase phase) const { return phases[static_cast<size_t>(phase)]; }
};

// The part of a stage's content that no micro-batch has a share in.
struct StageHoldings {
  StageState state;
  FrameworkCopies copies;
  StandingBuffers standing;
  Bytes reduce_bucket = Bytes(0);
  Bytes gather_bucket = Bytes(0);
};

// Stage contents that do not depend on micro-batches in flight; shared by identical stages.
struct StageContent {
  StageHoldings held;
  absl::InlinedVector<ChunkMemory, 4> chunks;
  Bytes most_received = Bytes(0);                       // of the receive buffers of `chunks`
  absl::InlinedVector<ChunkBytes, 8> weights;           // of each chunk; empty: not known
  std::array<Bytes, kStagePhaseCount> concurrent = {};  // StageLedger::ConcurrentAt() of `weights`

  const ChunkMemory& ChunkAt(int64_t index) const {
    size_t i = 0;
    while (index >= chunks[i].first + chunks[i].count) ++i;
    return chunks[i];
  }
};

// The figures that two stages are compared by.
struct StageTotal {
  CheckedInt counted = 0;  // without the reserve
  Bytes step_cache = Bytes(0);
  bool in_step = false;  // the peak is in the optimizer step
};

class StageLedger {
 public:
  explicit StageLedger(const LedgerContext& context);
  StageLedger(const StageLedger&) = delete;  // members point at one another
  StageLedger& operator=(const StageLedger&) = delete;

  // Fills `out`, whose memory is reused, with the content of `stage`. `costs` belong to this job.
  // Errors: kInvalidArgument where a sum exceeds 9.2e18 bytes; CallWork's.
  absl::Status Fill(int64_t stage, LayerCosts& costs, StageContent& out) const;

  // The three steps of Fill(), for a search: jobs that divide the same stages alike have equal
  // holdings but for their global buffer, which Finish() sets; those with the same micro-batches
  // on the same stages, equal chunks but for ChunkMemory::worst, which it sets, too.
  absl::Status FillHoldings(int64_t stage, StageHoldings& out) const;
  // `out` has no chunks, or those of this stage.
  absl::Status FillChunks(int64_t stage, LayerCosts& costs, StageContent& out) const;
  // Returns by how much the work of all chunks has grown since it was last finished; absent: not
  // by the same, or the chunks are new.
  absl::optional<Bytes> Finish(int64_t stage, StageContent& out) const;

  // The memory of a stage with `content` at `peak`, which is InFlight::Peak() of its chunks'
  // weights. For stages with the same content, more in flight means a larger total, unless the
  // peak is in the optimizer step. Excludes the framework's reserve, which AddReserve() adds.
  StageMemory MemoryOf(const StageContent& content, const InFlightPeak& peak) const;
  // The same in total.
  StageTotal TotalOf(const StageContent& content, const InFlightPeak& peak) const;

  // Appends the rows that add up to `memory`, the peak of `stage`. Where there are more than
  // kMaxLedgerRows, some are left out: the caller refuses them.
  absl::Status Append(int64_t stage, const StageContent& content, const StageMemory& memory,
                      LayerCosts& costs, LedgerRows& rows) const;

 private:
  // The stage that owns the layers of the `chunk`th chunk of `stage`.
  int64_t StageOfChunk(int64_t stage, int64_t chunk) const;
  // Counts the tensors that FillState() visits.
  absl::Status SpendOnState(int64_t stage) const;
  // Divides the stage's chunks.
  void FindChunks(int64_t stage, StageContent& out) const;
  // `before`: the stage's previous chunks, which are filled; null: none.
  absl::Status FillChunk(const ChunkMemory* before, LayerCosts& costs, ChunkMemory& out) const;
  // True where a chunk, not the model's last, has the layers of the stage's previous one, and
  // neither has an embedding.
  bool IsAsBefore(const StageChunk& of) const;
  void AddBuckets(int64_t stage, StageHoldings& out) const;
  PhaseBytes BytesAt(const ChunkMemory& chunk, StagePhase phase) const;
  // The work of the chunk that runs at `point`; empty where it only computes weight gradients, or
  // has no layers.
  static ChunkWork WorkOf(const InFlightPoint& point, const StageContent& content) {
    if (point.begins == ScheduleWork::kWeightGradient) return {};
    return content.ChunkAt(point.chunk).worst;
  }
  // Bytes alive in `phase` in addition to the micro-batches: state that is gathered, cast or
  // being sent.
  Bytes ConcurrentAt(StagePhase phase, const StageContent& content) const;
  Bytes GradientsAt(PeakPhase phase, const StageContent& content) const;
  StandingBuffers StandingOf(int64_t stage) const;
  // The head's weight gradients of all micro-batches wait for the last backward pass.
  bool defers_all_head_gradients() const;
  // Head inputs and logits' gradients that earlier micro-batches keep for it.
  Bytes DeferredHead(const StageContent& content) const;
  bool HasHead(int64_t stage) const;
  // The bytes of micro-batches and gradients in `phase`, in which `in_flight` bytes are alive
  // without state, and those of the optimizer step, which replaces them.
  struct PeakBytes {
    CheckedInt working = 0;
    Bytes stepping = Bytes(0);

    // Sums of absurd sizes overflow; AddReserve() refuses them.
    bool in_step() const { return working.ok() && stepping.value() > working.value(); }
  };
  PeakBytes PeakBytesOf(const StageContent& content, Bytes in_flight, PeakPhase phase) const;
  Bytes StepCache(const StageState& state, const PeakBytes& peak) const;
  bool gradients_wait() const;  // for a later backward pass, without memory until then
  bool drops_gradients(PeakPhase phase) const {
    return gradients_wait() && phase != PeakPhase::kOptimizerStep;
  }
  // With a single micro-batch per step, gradients are computed after all other phases.
  bool has_computed_gradients(PeakPhase phase) const {
    return phase == PeakPhase::kOptimizerStep || context_.job.pipeline.micro_batch_count > 1;
  }
  // The phase whose transients are alive at the peak; absent where there are none.
  absl::optional<StagePhase> WorkingPhase(const StageContent& content,
                                          const StageMemory& memory) const;
  absl::Status AppendState(int64_t stage, const StageMemory& memory,
                           const absl::optional<StagePhase>& phase, LedgerRows& rows) const;
  void AppendCopies(int64_t stage, const StageMemory& memory,
                    const absl::optional<StagePhase>& phase, LedgerRows& rows) const;
  absl::Status AppendActivations(const StageContent& content, const StageMemory& memory,
                                 LedgerRows& rows) const;

  LedgerContext context_;
  StageStateContext state_context_;
  CopiesContext copies_;
  ActivationContext activations_;
  BufferSpec buffers_;  // adjusted for transients
  TransientContext transients_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_STAGE_LEDGER_H_
