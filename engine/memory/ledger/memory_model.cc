#include "engine/memory/ledger/memory_model.h"

#include <utility>

#include "engine/base/status_macros.h"
#include "engine/memory/ledger/alike_stages.h"
#include "engine/memory/ledger/reserve.h"
#include "engine/memory/ledger/stage_ledger.h"
#include "engine/memory/schedule/check_pipeline.h"
#include "engine/memory/state/check_state_spec.h"

namespace sextant {

namespace {

// What CheckLayout() found out of range, as 1: no reason to find fault with what goes with it.
ParallelLayout WithSoundSizes(ParallelLayout layout) {
  const auto mend = [](int64_t& size, int64_t most) { size = size < 1 || size > most ? 1 : size; };
  mend(layout.tensor_parallel_size, kMaxTensorParallelSize);
  mend(layout.pipeline_parallel_size, kMaxPipelineParallelSize);
  mend(layout.virtual_stage_count, kMaxChunks);
  mend(layout.expert_parallel_size, kMaxExpertParallelSize);
  if (layout.expert_tensor_parallel_size != 0) {
    mend(layout.expert_tensor_parallel_size, kMaxTensorParallelSize);
  }
  return layout;
}

void CheckJob(const JobSpec& job, const ArchitectureSpec& spec, const ParallelLayout& layout,
              FieldViolations& violations) {
  CheckMicroBatch(job.batch, spec, layout, "batch", violations);
  CheckPipeline(job.pipeline, layout, "", violations);
  if (job.batch.context_parallel_size >= 1) {
    CheckStateSpec(job.state, spec, layout, job.batch.context_parallel_size, "state", violations);
  }
}

}  // namespace

absl::StatusOr<MemoryModel> MemoryModel::Of(const ArchitectureSpec& spec, JobSpec job) {
  absl::StatusOr<ShardedWeights> weights = ShardedWeights::Of(spec, "model", job.layout, "layout");
  FieldViolations violations;
  violations.AddAll(weights.status());
  if (weights.ok()) {
    CheckJob(job, spec, job.layout, violations);
  } else if (!violations.Mentions("layout")) {
    return weights.status();  // the model's, which all else depends on
  } else {
    CheckJob(job, spec, WithSoundSizes(job.layout), violations);
  }
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  return MemoryModel(spec, std::move(job), *std::move(weights));
}

MemoryModel::MemoryModel(const ArchitectureSpec& spec, JobSpec job, ShardedWeights weights)
    : spec_(&spec),
      job_(std::move(job)),
      weights_(std::move(weights)),
      in_flight_(job_.pipeline, job_.layout),
      flow_(TrainsEverything(spec) ? nullptr : std::make_unique<const GradientFlow>(spec)),
      state_rules_(StateRulesOf({.spec = spec,
                                 .layout = job_.layout,
                                 .weights = weights_,
                                 .state = job_.state,
                                 .context_parallel_size = job_.batch.context_parallel_size})),
      as_before_(AlikeStages(spec, job_, weights_.placement())) {}

absl::StatusOr<StageMemory> MemoryModel::Stage(int64_t stage, LedgerRows* rows) const {
  const StageLedger ledger({*spec_, job_, weights_, in_flight_, flow_.get(), state_rules_});
  LayerCosts costs;
  StageContent content;
  SEXTANT_RETURN_IF_ERROR(ledger.Fill(stage, costs, content));
  SEXTANT_ASSIGN_OR_RETURN(const InFlightPeak peak, in_flight_.Peak(stage, content.weights));
  SEXTANT_ASSIGN_OR_RETURN(StageMemory memory,
                           AddReserve(job_.reserve, ledger.MemoryOf(content, peak)));
  if (rows == nullptr) return memory;
  SEXTANT_RETURN_IF_ERROR(ledger.Append(stage, content, memory, *rows));
  return memory;
}

absl::StatusOr<StagePeak> MemoryModel::Peak() const {
  const StageLedger ledger({*spec_, job_, weights_, in_flight_, flow_.get(), state_rules_});
  LayerCosts costs;
  StageContent content;
  StagePeak out;
  StagePeak of_run;
  CheckedInt most = -1;
  for (int64_t stage = 0; stage < stage_count() && most.ok();) {
    SEXTANT_RETURN_IF_ERROR(ledger.Fill(stage, costs, content));
    SEXTANT_RETURN_IF_ERROR(PeakOfRun(ledger, stage, content, of_run));
    const CheckedInt counted = of_run.memory.counted();
    if (!counted.ok() || counted.value() > most.value()) {
      out = of_run;
      most = counted;
    }
    for (++stage; stage < stage_count() && IsAsBefore(stage);) ++stage;
  }
  // More that is counted is more in all.
  SEXTANT_ASSIGN_OR_RETURN(out.memory, AddReserve(job_.reserve, out.memory));
  return out;
}

// The stage with the most in flight; in the optimizer step nothing is, and all hold the same.
absl::Status MemoryModel::PeakOfRun(const StageLedger& ledger, int64_t first,
                                    const StageContent& content, StagePeak& out) const {
  out.stage = first;
  SEXTANT_ASSIGN_OR_RETURN(InFlightPeak most, in_flight_.Peak(first, content.weights));
  int64_t end = first + 1;
  while (!in_flight_.FirstStagesHoldMost() && end < stage_count() && IsAsBefore(end)) ++end;
  for (int64_t stage = first + 1; stage < end; ++stage) {
    SEXTANT_ASSIGN_OR_RETURN(const InFlightPeak peak, in_flight_.Peak(stage, content.weights));
    if (peak.size <= most.size) continue;
    out.stage = stage;
    most = peak;
  }
  out.memory = ledger.MemoryOf(content, most);
  if (out.memory.moment == PeakMoment::kOptimizerStep) out.stage = first;
  return absl::OkStatus();
}

}  // namespace sextant
