// What each GPU of each pipeline stage holds when it holds the most, and the ledger of it.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_MEMORY_MODEL_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_MEMORY_MODEL_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/base/field_violation.h"
#include "engine/memory/activations/gradient_flow.h"
#include "engine/memory/ledger/job_spec.h"
#include "engine/memory/ledger/stage_memory.h"
#include "engine/memory/ledger_row.h"
#include "engine/memory/schedule/in_flight.h"
#include "engine/memory/state/state_rules.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/sharding/sharded_weights.h"

namespace sextant {

class StageLedger;
struct StageContent;

struct StagePeak {
  int64_t stage = 0;
  StageMemory memory = {};
};

// A model and a job, checked and prepared. Total of a stage, exactly:
//
//   model state + activations in flight + transients + communication buffers + framework reserve
//
// at the moment when their sum is largest. docs/memory.md derives each.
class MemoryModel {
 public:
  // `spec` outlives what is returned.
  //
  // Errors: kInvalidArgument with all that is wrong, under the request's paths of a run: "model",
  // "layout...", "training...".
  static absl::StatusOr<MemoryModel> Of(const ArchitectureSpec& spec, JobSpec job);

  const JobSpec& job() const { return job_; }
  const ShardedWeights& weights() const { return weights_; }
  int64_t stage_count() const { return weights_.stage_count(); }
  // Chunks of layers that a stage works on: two under DualPipe, the second its opposite's.
  int64_t chunk_count() const { return in_flight_.chunk_count(); }

  // Of `stage`. Rows, appended to `rows`, add up to total(); null: nothing is allocated.
  //
  // Errors: kInvalidArgument where a sum exceeds 9.2e18 bytes.
  absl::StatusOr<StageMemory> Stage(int64_t stage, LedgerRows* rows = nullptr) const;

  // Of the stage that holds the most, the first of several. Works out once what a run of stages
  // alike has. Allocates nothing where a stage has no more than 8 chunks.
  absl::StatusOr<StagePeak> Peak() const;

 private:
  MemoryModel(const ArchitectureSpec& spec, JobSpec job, ShardedWeights weights);

  bool IsAsBefore(int64_t stage) const { return as_before_[static_cast<size_t>(stage)]; }
  // Of `first` and the stages behind it that are alike, which all have `content`; to `out`, without
  // the reserve.
  absl::Status PeakOfRun(const StageLedger& ledger, int64_t first, const StageContent& content,
                         StagePeak& out) const;

  const ArchitectureSpec* spec_;
  JobSpec job_;
  ShardedWeights weights_;
  InFlight in_flight_;
  std::unique_ptr<const GradientFlow> flow_;  // null where everything is trained
  StateRules state_rules_;
  std::vector<bool> as_before_;  // AlikeStages()
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_MEMORY_MODEL_H_
