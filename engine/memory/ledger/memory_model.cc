#include "engine/memory/ledger/memory_model.h"

#include <utility>

#include "engine/base/status_macros.h"
#include "engine/memory/ledger/stage_ledger.h"
#include "engine/memory/ledger/stage_memory.h"
#include "engine/memory/schedule/pipeline_schedule.h"
#include "engine/memory/state/state_spec.h"

namespace sextant {
namespace {

// Replaces sizes that CheckLayout() rejects with 1, so that no other field is blamed for them.
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

void CheckJob(const MemoryJob& job, const ArchitectureSpec& spec, const ParallelLayout& layout,
              FieldViolations& violations) {
  CheckMicroBatch(job.batch, spec, layout, "batch", violations);
  CheckPipeline(job.pipeline, layout, "", violations);
  if (job.batch.context_parallel_size >= 1) {
    CheckStateSpec(job.state, spec, layout, job.batch.context_parallel_size, "state", violations);
  }
}

class StageComparison {
 public:
  StageComparison(const ArchitectureSpec& spec, const MemoryJob& job,
                  const LayerPlacement& placement)
      : spec_(spec),
        placement_(placement),
        chunk_count_(job.layout.virtual_stage_count),
        part_(spec.decoder.layers.empty() ? ModelPart::kEncoder : ModelPart::kDecoder) {}

  // True where `stage` has the same content as the previous one: the same layers in each chunk, no
  // embedding and no output, and the same number of neighbours to receive from.
  bool IsAsBefore(int64_t stage) const {
    if (stage < 2 || stage > placement_.stage_count() - 2) return false;
    for (size_t i = 0; i < spec_.layer_kinds.size(); ++i) {
      const int kind = static_cast<int>(i);
      const int64_t here = placement_.On(stage, part_, kind).count;
      if (here != placement_.On(stage - 1, part_, kind).count) return false;
      // With mixed kinds, counts don't determine the chunk of a layer or the order of gathered
      // units.
      if (here > 0 && here != placement_.LayersOn(stage)) return false;
    }
    for (int64_t chunk = 0; chunk < chunk_count_; ++chunk) {
      const int64_t layers = placement_.ChunkOf(stage, chunk).count;
      if (layers != placement_.ChunkOf(stage - 1, chunk).count) return false;
    }
    return true;
  }

 private:
  const ArchitectureSpec& spec_;
  const LayerPlacement& placement_;
  const int64_t chunk_count_;
  const ModelPart part_;
};

}  // namespace

absl::StatusOr<MemoryModel> MemoryModel::Of(const ArchitectureSpec& spec, MemoryJob job) {
  absl::StatusOr<ShardedWeights> weights = ShardedWeights::Of(spec, "model", job.layout, "layout");
  FieldViolations violations;
  violations.AddAll(weights.status());
  if (weights.ok()) {
    CheckJob(job, spec, job.layout, violations);
  } else if (!violations.Mentions("layout")) {
    return weights.status();  // of the model, which everything else depends on
  } else {
    CheckJob(job, spec, WithSoundSizes(job.layout), violations);
  }
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  return MemoryModel(spec, std::move(job), *std::move(weights));
}

MemoryModel::MemoryModel(const ArchitectureSpec& spec, MemoryJob job, ShardedWeights weights)
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
  // The total grows monotonically with the counted bytes.
  SEXTANT_ASSIGN_OR_RETURN(out.memory, AddReserve(job_.reserve, out.memory));
  return out;
}

// Takes the stage with the most in flight. In the optimizer step nothing is in flight, and all
// stages hold the same.
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
  if (out.memory.phase == PeakPhase::kOptimizerStep) out.stage = first;
  return absl::OkStatus();
}

std::vector<bool> AlikeStages(const ArchitectureSpec& spec, const MemoryJob& job,
                              const LayerPlacement& placement) {
  const int64_t stages = placement.stage_count();
  std::vector<bool> out(static_cast<size_t>(stages), false);
  const bool one_stack = spec.encoder.layers.empty() || spec.decoder.layers.empty();
  if (!one_stack || !TrainsEverything(spec)) return out;
  const StageComparison comparison(spec, job, placement);
  const bool dual = job.pipeline.schedule == PipelineSchedule::kDualPipe;
  for (int64_t stage = 1; stage < stages; ++stage) {
    // The opposite of the previous stage is the stage after the opposite.
    out[static_cast<size_t>(stage)] =
        comparison.IsAsBefore(stage) && (!dual || comparison.IsAsBefore(stages - stage));
  }
  return out;
}

}  // namespace sextant
