#include "engine/memory/ledger/memory_model.h"

#include <utility>

#include "engine/base/status_macros.h"
#include "engine/memory/ledger/stage_ledger.h"
#include "engine/memory/schedule/check_pipeline.h"
#include "engine/memory/state/check_state_spec.h"

namespace sextant {

absl::StatusOr<MemoryModel> MemoryModel::Of(const ArchitectureSpec& spec, JobSpec job) {
  SEXTANT_ASSIGN_OR_RETURN(ShardedWeights weights,
                           ShardedWeights::Of(spec, "model", job.layout, "layout"));
  FieldViolations violations;
  CheckMicroBatch(job.batch, spec, job.layout, "batch", violations);
  CheckPipeline(job.pipeline, job.layout, "", violations);
  if (job.batch.context_parallel_size >= 1) {
    CheckStateSpec(job.state, spec, job.layout, job.batch.context_parallel_size, "state",
                   violations);
  }
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  return MemoryModel(spec, std::move(job), std::move(weights));
}

MemoryModel::MemoryModel(const ArchitectureSpec& spec, JobSpec job, ShardedWeights weights)
    : spec_(&spec),
      job_(std::move(job)),
      weights_(std::move(weights)),
      in_flight_(job_.pipeline, job_.layout),
      flow_(TrainsEverything(spec) ? nullptr : std::make_unique<const GradientFlow>(spec)) {}

absl::StatusOr<StageMemory> MemoryModel::Stage(int64_t stage, LedgerRows* rows) const {
  const StageLedger ledger({*spec_, job_, weights_, in_flight_, flow_.get()});
  SEXTANT_ASSIGN_OR_RETURN(const StageContent content, ledger.ContentOf(stage));
  SEXTANT_ASSIGN_OR_RETURN(StageMemory memory, ledger.PeakOf(stage, content));
  if (rows == nullptr) return memory;
  SEXTANT_RETURN_IF_ERROR(ledger.Append(stage, content, memory, *rows));
  return memory;
}

absl::StatusOr<StagePeak> MemoryModel::Peak() const {
  const StageLedger ledger({*spec_, job_, weights_, in_flight_, flow_.get()});
  StagePeak out;
  for (int64_t stage = 0; stage < stage_count(); ++stage) {
    SEXTANT_ASSIGN_OR_RETURN(const StageContent content, ledger.ContentOf(stage));
    SEXTANT_ASSIGN_OR_RETURN(const StageMemory memory, ledger.PeakOf(stage, content));
    if (stage == 0 || memory.total() > out.memory.total()) out = {stage, memory};
  }
  return out;
}

}  // namespace sextant
