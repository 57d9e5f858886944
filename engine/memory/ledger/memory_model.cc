// Finds the stage with the highest peak without computing each one. Stages in a row with the same
// layers (IsAsBefore()) share a StageContent and differ only in micro-batches in flight. Under 1F1B
// and GPipe the first of them holds the most; under other schedules InFlight::Peak() is asked for
// each.
//
// A search keeps holdings and chunks of earlier layouts (KnownStages). Where the work of all chunks
// has changed by the same bytes, Move() moves the known peak by that, without visiting the
// schedule. Time is linear in the stages, times the cost of a ledger for those that differ.
#include "engine/memory/ledger/memory_model.h"

#include <algorithm>
#include <utility>

#include "engine/base/status_macros.h"
#include "engine/memory/host_memory.h"
#include "engine/memory/ledger/stage_ledger.h"
#include "engine/memory/ledger/stage_memory.h"
#include "engine/memory/schedule/pipeline_schedule.h"
#include "engine/memory/state/state_spec.h"

namespace sextant {
namespace {

void CheckJob(const MemoryJob& job, const ArchitectureSpec& spec, const ParallelLayout& layout,
              FieldViolations& violations) {
  CheckMicroBatch(job.batch, spec, layout, violations);
  CheckPipeline(job.pipeline, layout, violations);
  if (job.batch.context_parallel_size >= 1) {
    CheckStateSpec(job.state, spec, layout, job.batch.context_parallel_size, violations);
  }
}

// True where `stage` has the same content as the previous one: the same layers in each chunk, no
// embedding and no output, and the same number of neighbours to receive from.
bool HasSameLayers(const LayerPlacement& placement, int64_t stage) {
  if (stage < 2 || stage > placement.stage_count() - 2) return false;
  for (int64_t chunk = 0; chunk < placement.chunk_count(); ++chunk) {
    if (!IsAlike(placement.PiecesOf(stage, chunk), placement.PiecesOf(stage - 1, chunk)))
      return false;
  }
  return true;
}

// True where `a` takes more than `b`, or more than can be counted. The reserve grows with what is
// counted, and with the step's cache.
bool TakesMore(const ReserveSpec& reserve, const StageTotal& a, const StageTotal& b) {
  if (!a.counted.ok()) return true;
  if (a.step_cache == b.step_cache) return a.counted.value() > b.counted.value();
  const auto all = ProcessMemoryOf(reserve, a.counted, a.step_cache);
  const auto other = ProcessMemoryOf(reserve, b.counted, b.step_cache);
  return !all.ok() || (other.ok() && all->process.expected > other->process.expected);
}

}  // namespace

absl::StatusOr<MemoryModel> MemoryModel::Of(const ArchitectureSpec& spec, MemoryJob job) {
  // Everything else depends on the model.
  SEXTANT_ASSIGN_OR_RETURN(auto model, CheckedModel::Of(spec, "model"));
  return Of(std::move(model), std::move(job));
}

absl::StatusOr<MemoryModel> MemoryModel::Of(std::shared_ptr<const CheckedModel> model,
                                            MemoryJob job) {
  const ArchitectureSpec& spec = model->spec();
  absl::StatusOr<ShardedWeights> weights =
      ShardedWeights::Of(std::move(model), job.layout, "layout.parallel");
  FieldViolations violations;
  violations.AddAll(weights.status());
  CheckJob(job, spec, weights.ok() ? job.layout : WithSoundSizes(job.layout), violations);
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  return MemoryModel(spec, std::move(job), *std::move(weights), FlowOf(spec));
}

absl::StatusOr<MemoryModel> MemoryModel::Of(std::shared_ptr<const CheckedModel> model,
                                            std::shared_ptr<const GradientFlow> flow, MemoryJob job,
                                            LayoutCache& cache) {
  if (!cache.IsSound(*model, job.layout)) return InvalidField("layout", "is not sound");
  const ArchitectureSpec& spec = model->spec();
  FieldViolations violations;
  CheckJob(job, spec, job.layout, violations);
  SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
  ShardedWeights weights(std::move(model), job.layout, cache);
  return MemoryModel(spec, std::move(job), std::move(weights), std::move(flow));
}

std::shared_ptr<const GradientFlow> MemoryModel::FlowOf(const ArchitectureSpec& spec) {
  return TrainsEverything(spec) ? nullptr : std::make_shared<const GradientFlow>(spec);
}

absl::StatusOr<MemoryModel> MemoryModel::With(MemoryJob job, LayoutCache& cache) const {
  return Of(weights_.shared_model(), flow_, std::move(job), cache);
}

MemoryModel::MemoryModel(const ArchitectureSpec& spec, MemoryJob job, ShardedWeights weights,
                         std::shared_ptr<const GradientFlow> flow)
    : spec_(&spec),
      job_(std::move(job)),
      weights_(std::move(weights)),
      in_flight_(job_.pipeline, job_.layout),
      flow_(std::move(flow)),
      state_rules_(StateRulesOf({.spec = spec,
                                 .layout = job_.layout,
                                 .weights = weights_,
                                 .state = job_.state,
                                 .context_parallel_size = job_.batch.context_parallel_size})) {}

void MemoryModel::SetSharding(const StateSharding& sharding) {
  job_.state.sharding = sharding;
  state_rules_.ranks = StateRanksOf(job_.layout, sharding, job_.batch.context_parallel_size);
}

LedgerContext MemoryModel::ContextOf(CallWork& work) const {
  return {*spec_, job_, weights_, in_flight_, flow_.get(), state_rules_, work};
}

bool MemoryModel::IsAsBefore(int64_t stage) const {
  const LayerPlacement& placement = weights_.placement();
  if (flow_ != nullptr || HasTwoStacks(*spec_) || !HasSameLayers(placement, stage)) return false;
  // The opposite of the previous stage is the stage after the opposite.
  return job_.pipeline.schedule != PipelineSchedule::kDualPipe ||
         HasSameLayers(placement, stage_count() - stage);
}

absl::StatusOr<StageMemory> MemoryModel::Stage(int64_t stage, LedgerRows* rows,
                                               CallWork* work) const {
  CallWork unbounded;
  const StageLedger ledger(ContextOf(work == nullptr ? unbounded : *work));
  LayerCosts costs(weights_.model().alike_kinds());
  StageContent content;
  SEXTANT_RETURN_IF_ERROR(ledger.Fill(stage, costs, content));
  SEXTANT_ASSIGN_OR_RETURN(const InFlightPeak peak, in_flight_.Peak(stage, content.weights));
  SEXTANT_ASSIGN_OR_RETURN(StageMemory memory,
                           AddReserve(job_.reserve, ledger.MemoryOf(content, peak)));
  if (rows == nullptr) return memory;
  SEXTANT_RETURN_IF_ERROR(ledger.Append(stage, content, memory, costs, *rows));
  return memory;
}

absl::Status MemoryModel::ForEachStage(bool with_rows, CallWork& work, StageVisitor visit) const {
  const StageLedger ledger(ContextOf(work));
  LayerCosts costs(weights_.model().alike_kinds());
  StageContent content;
  for (int64_t stage = 0; stage < stage_count(); ++stage) {
    // Rows name the chunks of their own stage.
    if (with_rows || stage == 0 || !IsAsBefore(stage)) {
      SEXTANT_RETURN_IF_ERROR(ledger.Fill(stage, costs, content));
    }
    SEXTANT_ASSIGN_OR_RETURN(const InFlightPeak peak, in_flight_.Peak(stage, content.weights));
    SEXTANT_ASSIGN_OR_RETURN(const StageMemory memory,
                             AddReserve(job_.reserve, ledger.MemoryOf(content, peak)));
    LedgerRows rows;
    if (with_rows) SEXTANT_RETURN_IF_ERROR(ledger.Append(stage, content, memory, costs, rows));
    SEXTANT_RETURN_IF_ERROR(visit(stage, memory, std::move(rows)));
    SEXTANT_RETURN_IF_ERROR(work.Spend(1));
  }
  return absl::OkStatus();
}

absl::StatusOr<Bytes> MemoryModel::HostNeed(int64_t stage_devices, int64_t server_devices,
                                            CallWork& work) const {
  const StageLedger ledger(ContextOf(work));
  FullestServer fullest(server_devices);
  for (int64_t stage = 0; stage < stage_count();) {
    StageHoldings held;
    SEXTANT_RETURN_IF_ERROR(ledger.FillHoldings(stage, held));
    const int64_t first = stage;
    for (++stage; stage < stage_count() && IsAsBefore(stage);) ++stage;
    fullest.Add((stage - first) * stage_devices, held.state.host);
    SEXTANT_RETURN_IF_ERROR(work.Spend(1));
  }
  return fullest.need();
}

absl::StatusOr<StagePeak> MemoryModel::Peak() const {
  CallWork unbounded;
  return PeakOrFirst([](const StageMemory&) { return false; }, unbounded);
}

absl::StatusOr<StagePeak> MemoryModel::PeakOrFirst(StageTest is_enough, CallWork& work) const {
  const StageLedger ledger(ContextOf(work));
  LayerCosts costs(weights_.model().alike_kinds());
  StageContent content;
  StagePeak out;
  StageTotal most;
  for (int64_t stage = 0; stage < stage_count() && most.counted.ok();) {
    SEXTANT_RETURN_IF_ERROR(ledger.Fill(stage, costs, content));
    int64_t fullest_stage = stage;
    InFlightPeak fullest;
    SEXTANT_RETURN_IF_ERROR(FullestOfRun(stage, content.weights, fullest_stage, fullest));
    const StageTotal total = ledger.TotalOf(content, fullest);
    if (stage == 0 || TakesMore(job_.reserve, total, most)) {
      most = total;
      // In the optimizer step nothing is in flight, and all stages hold the same.
      out = {.stage = total.in_step ? stage : fullest_stage,
             .memory = ledger.MemoryOf(content, fullest)};
      const absl::StatusOr<StageMemory> memory = AddReserve(job_.reserve, out.memory);
      if (memory.ok() && is_enough(*memory)) break;
    }
    for (++stage; stage < stage_count() && IsAsBefore(stage);) ++stage;
    SEXTANT_RETURN_IF_ERROR(work.Spend(1));
  }
  // The total grows monotonically with the counted bytes.
  SEXTANT_ASSIGN_OR_RETURN(out.memory, AddReserve(job_.reserve, out.memory));
  return out;
}

absl::StatusOr<BytesInterval> MemoryModel::PeakProcess(KnownStages& known,
                                                       std::vector<StageHoldings>& held,
                                                       CallWork& work) const {
  const StageLedger ledger(ContextOf(work));
  if (known.runs.empty()) {
    for (int64_t stage = 0; stage < stage_count(); ++stage) {
      if (!IsAsBefore(stage)) known.runs.emplace_back().first_stage = stage;
    }
  }
  const bool has_holdings = !held.empty();
  held.resize(known.runs.size());
  absl::optional<StageTotal> most;
  for (size_t i = 0; i < held.size(); ++i) {
    KnownStages::Run& run = known.runs[i];
    StageContent& content = run.content;
    if (!has_holdings) SEXTANT_RETURN_IF_ERROR(ledger.FillHoldings(run.first_stage, held[i]));
    content.held = held[i];
    if (!known.has_chunks) {
      SEXTANT_RETURN_IF_ERROR(ledger.FillChunks(run.first_stage, *known.costs, content));
    }
    if (!Move(ledger.Finish(run.first_stage, content), run.peak)) {
      int64_t fullest = run.first_stage;
      SEXTANT_RETURN_IF_ERROR(FullestOfRun(run.first_stage, content.weights, fullest, run.peak));
    }
    const StageTotal total = ledger.TotalOf(content, run.peak);
    if (!most.has_value() || TakesMore(job_.reserve, total, *most)) most = total;
    if (!most->counted.ok()) break;
  }
  known.has_chunks = true;
  SEXTANT_ASSIGN_OR_RETURN(const ProcessMemory all,
                           ProcessMemoryOf(job_.reserve, most->counted, most->step_cache));
  return all.process;
}

bool MemoryModel::Move(const absl::optional<Bytes>& grown, InFlightPeak& peak) const {
  if (!grown.has_value()) return false;
  const bool whole_passes = job_.pipeline.schedule == PipelineSchedule::kOneForwardOneBackward ||
                            job_.pipeline.schedule == PipelineSchedule::kGPipe;
  const CheckedInt size = CheckedInt(peak.size.value()) + grown->value();
  if ((*grown != Bytes(0) && !whole_passes) || !size.ok()) return false;
  peak.size = Bytes(size.value());
  return true;
}

absl::Status MemoryModel::FullestOfRun(int64_t first, absl::Span<const ChunkBytes> weights,
                                       int64_t& stage, InFlightPeak& peak) const {
  stage = first;
  SEXTANT_ASSIGN_OR_RETURN(peak, in_flight_.Peak(first, weights));
  if (in_flight_.FirstStagesHoldMost()) return absl::OkStatus();
  for (int64_t next = first + 1; next < stage_count() && IsAsBefore(next); ++next) {
    SEXTANT_ASSIGN_OR_RETURN(const InFlightPeak other, in_flight_.Peak(next, weights));
    if (other.size <= peak.size) continue;
    stage = next;
    peak = other;
  }
  return absl::OkStatus();
}

}  // namespace sextant
