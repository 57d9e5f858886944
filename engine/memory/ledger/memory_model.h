// The peak memory of each GPU of each pipeline stage, and its ledger.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_MEMORY_MODEL_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_MEMORY_MODEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/field_violation.h"
#include "engine/memory/activations/gradient_flow.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/memory/ledger/stage_memory.h"
#include "engine/memory/ledger_row.h"
#include "engine/memory/schedule/in_flight.h"
#include "engine/memory/state/state_rules.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/sharding/layer_placement.h"
#include "engine/model/sharding/sharded_weights.h"

namespace sextant {

class StageLedger;
struct StageContent;

struct StagePeak {
  int64_t stage = 0;
  StageMemory memory = {};
};

// A model and a job, checked and prepared. The exact total of a stage is
//
//   model state + activations in flight + transients + communication buffers + framework reserve
//
// at the moment when this sum is largest. docs/memory.md derives each term.
class MemoryModel {
 public:
  // `spec` outlives the result.
  //
  // Errors: kInvalidArgument with all errors, under the paths of a run request: "model",
  // "layout...", "training...".
  static absl::StatusOr<MemoryModel> Of(const ArchitectureSpec& spec, MemoryJob job);

  const MemoryJob& job() const { return job_; }
  const ShardedWeights& weights() const { return weights_; }
  int64_t stage_count() const { return weights_.stage_count(); }
  // Chunks of layers of a stage: two under DualPipe, where the second is the opposite stage's.
  int64_t chunk_count() const { return in_flight_.chunk_count(); }

  // Memory of `stage`. Rows appended to `rows` add up to total(); null: nothing is allocated.
  //
  // Errors: kInvalidArgument where a sum exceeds 9.2e18 bytes.
  absl::StatusOr<StageMemory> Stage(int64_t stage, LedgerRows* rows = nullptr) const;

  // The peak of the stage that holds the most, or the first of several. Computes the shared
  // content of a run of identical stages once. Allocates nothing where a stage has at most 8
  // chunks.
  absl::StatusOr<StagePeak> Peak() const;

 private:
  MemoryModel(const ArchitectureSpec& spec, MemoryJob job, ShardedWeights weights);

  bool IsAsBefore(int64_t stage) const { return as_before_[static_cast<size_t>(stage)]; }
  // The peak over `first` and the identical stages after it, which all have `content`. Written to
  // `out` without the reserve.
  absl::Status PeakOfRun(const StageLedger& ledger, int64_t first, const StageContent& content,
                         StagePeak& out) const;

  const ArchitectureSpec* spec_;
  MemoryJob job_;
  ShardedWeights weights_;
  InFlight in_flight_;
  std::unique_ptr<const GradientFlow> flow_;  // null where everything is trained
  StateRules state_rules_;
  std::vector<bool> as_before_;  // AlikeStages()
};

// Finds the stages of a pipeline that differ only in micro-batches in flight. By stage: true where
// its StageContent equals that of the previous stage. A false entry is always safe, only slower:
// models with two stacks or frozen parts get no true entries.
std::vector<bool> AlikeStages(const ArchitectureSpec& spec, const MemoryJob& job,
                              const LayerPlacement& placement);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_MEMORY_MODEL_H_
