#include "engine/run/estimate_memory.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/run/fitting_changes.h"

namespace sextant {
namespace {

absl::StatusOr<StageEstimate> EstimateStage(const EstimateInput& in, int64_t stage) {
  const MemoryModel& model = in.model;
  StageEstimate out;
  SEXTANT_ASSIGN_OR_RETURN(out.memory,
                           model.Stage(stage, in.include_ledger ? &out.ledger : nullptr));
  for (int64_t chunk = 0; chunk < model.chunk_count(); ++chunk) {
    out.micro_batches_in_flight.push_back(out.memory.InFlightOf(chunk));
  }
  const StageWeights weights = model.weights().Stage(stage);
  out.layer_count = weights.layer_count;
  out.parameter_count = weights.all.total;
  return out;
}

// Of a model with two copies of its parameters, a stage has its opposite's as well.
void AddOpposites(MemoryEstimate& estimate) {
  const std::vector<StageEstimate> own = estimate.stages;
  for (size_t i = 0; i < own.size(); ++i) {
    const StageEstimate& opposite = own[own.size() - 1 - i];
    estimate.stages[i].layer_count += opposite.layer_count;
    estimate.stages[i].parameter_count += opposite.parameter_count;
  }
}

}  // namespace

absl::StatusOr<MemoryEstimate> EstimateMemory(const EstimateInput& in) {
  MemoryEstimate out;
  const JobSpec& job = in.model.job();
  out.usable = in.usable;
  out.data_parallel_size = job.state.sharding.data_parallel_size;
  out.micro_batch_count = job.pipeline.micro_batch_count;
  for (const LayerSpec& layer : in.context.spec.layer_kinds) out.layer_kinds.push_back(layer.name);
  int64_t rows = 0;
  for (int64_t stage = 0; stage < in.model.stage_count(); ++stage) {
    SEXTANT_ASSIGN_OR_RETURN(StageEstimate estimate, EstimateStage(in, stage));
    rows += static_cast<int64_t>(estimate.ledger.size());
    if (rows > kMaxLedgerRows) {
      return InvalidField(
          "options.include_ledger",
          absl::StrCat("would list more than ", kMaxLedgerRows, " rows over ",
                       in.model.stage_count(), " stages: leave it out, or plan fewer stages"));
    }
    out.stages.push_back(std::move(estimate));
    if (out.stages.back().memory.total() > out.peak().total()) out.peak_stage = stage;
  }
  if (job.pipeline.schedule == PipelineSchedule::kDualPipe) AddOpposites(out);
  out.verdict = VerdictOf(out.peak().process, in.usable);
  if (out.verdict == Verdict::kFits) return out;
  FittingChanges found = FindFittingChanges(in.context, in.choice, in.usable);
  out.changes = std::move(found.changes);
  out.changes_considered = found.considered;
  return out;
}

}  // namespace sextant
