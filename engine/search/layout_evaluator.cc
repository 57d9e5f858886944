// Evaluates a layout from results that earlier ones left, each kept by the choices that it depends
// on:
//   weights and placement      the layers of each chunk (Placements)
//   layers and their times     sizes, kernels and recomputation (MicroBatchKey)
//   state of the stages        ZeRO, shard groups and offload (HoldingsKey)
//   prices of operations       the device (PricedOperations)
// A layout that differs from the last one in the division of state alone keeps the memory model,
// its chunks and the stages' times; where that division was seen too, no layer is walked and no
// operation priced. What is not kept is computed by PlanRun()'s own functions, so answers are equal
// to the last digit.
#include "engine/search/layout_evaluator.h"

#include <algorithm>
#include <utility>

#include "engine/base/status_macros.h"
#include "engine/memory/state/state_rules.h"
#include "engine/run/job.h"
#include "engine/time/step_time.h"

namespace sextant {
namespace {

constexpr int64_t kStepsALayout = 20;  // of CallWork, in addition to those that are counted inside
// The most settings of micro-batches that are kept, and their bytes: 20 KB each of models with few
// kinds of layers on one device.
constexpr size_t kMaxKept = 4096;
constexpr size_t kMaxKeptBytes = 64 << 20;
// The most stages whose state is kept, all divisions together: of about 500 bytes.
constexpr size_t kMaxHeldStages = 65'536;
// Kinds of layers beyond these take memory of their own in each table (LayerTable).
constexpr size_t kInlinedKinds = 8;
constexpr size_t kPricedSlots = 4096;  // of about 130 bytes

int64_t VocabularyOf(const ArchitectureSpec* padded) {
  return padded == nullptr ? 0 : padded->embedding.padded_vocabulary_size;
}

}  // namespace

LayoutEvaluator::LayoutEvaluator(RunSpec run, CallWork& work)
    : run_(std::move(run)),
      work_(work),
      given_recompute_(run_.training.recompute),
      given_parts_(run_.layout->kernels.recomputation),
      given_reshard_(run_.layout->reshard_after_forward),
      given_sharding_(run_.layout->sharding) {}

absl::Status LayoutEvaluator::Prepare(FieldViolations found, bool offloads) {
  SEXTANT_ASSIGN_OR_RETURN(resolved_, Resolve(run_, std::move(found)));
  const int64_t node = resolved_.node != nullptr ? resolved_.node->device_count : 1;
  space_ = SpaceOf(
      run_, {.spec = *resolved_.shape.architecture,
             .parameter_count = resolved_.parameters.all.total,
             .weight_bytes_each = StorageBytes(resolved_.precision.weight_data_type),
             .node_devices = std::max<int64_t>(
                 node, run_.layout->given.tensor ? run_.layout->parallel.tensor_parallel_size : 1),
             .usable = resolved_.capacity.usable(),
             .offloads = offloads});
  bound_ = StateBound(run_, resolved_);
  untimed_ = MissingForStep(run_, resolved_);
  if (!untimed_.field.empty()) return absl::OkStatus();
  // The layouts that are evaluated give both.
  run_.training.recompute_given = true;
  run_.layout->interleaving_given = true;
  SEXTANT_ASSIGN_OR_RETURN(predictor_, StepPredictor::Of(run_, resolved_, work_));
  if (predictor_->devices().empty()) {
    predictor_.reset();
    untimed_ = {"options.search",
                "times of matrix products, attention or memory passes are unknown on the device in "
                "the run's types: give a layout"};
    return absl::OkStatus();
  }
  for (const StepPredictor::Device& device : predictor_->devices()) {
    priced_.emplace_back(device.pricer, kPricedSlots);
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::optional<LayoutOption>> LayoutEvaluator::Evaluate(const LayoutChoice& choice,
                                                                       int64_t layer_count,
                                                                       bool times_all) {
  SEXTANT_RETURN_IF_ERROR(work_.Spend(kStepsALayout));
  SEXTANT_RETURN_IF_ERROR(SetModel(choice, layer_count));
  if (!resolved_.memory.has_value() || held_->refused) return absl::nullopt;
  const auto process = PeakProcess();
  if (absl::IsInvalidArgument(process.status())) return absl::nullopt;
  SEXTANT_RETURN_IF_ERROR(process.status());
  LayoutOption out = {.choice = choice, .process = *process};
  out.fit_chance = FitChance(out.process, resolved_.capacity.usable());
  out.verdict = std::max(VerdictOf(out.fit_chance, run_.options.thresholds), HostVerdict());
  if (out.verdict == Verdict::kDoesNotFit && !times_all) return out;
  if (predictor_ == nullptr) return absl::nullopt;
  PrepareStep();
  step_ = ExpectedStep(Step(), steps_[slowest_]);
  if (run_.measured_step.has_value()) SEXTANT_RETURN_IF_ERROR(Calibrate());
  out.step = step_.seconds;
  return out;
}

void LayoutEvaluator::Complete(LayoutOption& option) const {
  const bool has_step = option.step.expected > Seconds(0);
  if (has_step && !run_.measured_step.has_value()) option.step = StepInterval(Step(), step_);
}

bool LayoutEvaluator::IsOfModel(const LayoutChoice& choice) const {
  LayoutChoice divided = choice;
  divided.zero_stage = choice_.zero_stage;
  divided.shard_group = choice_.shard_group;
  divided.stays_gathered = choice_.stays_gathered;
  divided.offload = choice_.offload;
  return resolved_.memory.has_value() && divided == choice_;
}

// The division of state as the run gives it.
void LayoutEvaluator::ResetState() {
  run_.layout->reshard_after_forward = given_reshard_;
  run_.layout->sharding = given_sharding_;
}

// The memory of `choice`, or none where it is refused. Layouts that only divide state otherwise are
// refused for that alone: CheckStateSpec() and CheckRefusals().
absl::Status LayoutEvaluator::SetModel(const LayoutChoice& choice, int64_t layer_count) {
  const bool of_model = IsOfModel(choice);
  if (of_model) {
    const auto known = std::find_if(
        holdings_.begin(), holdings_.end(),
        [key = HoldingsKeyOf(choice)](const Holdings& each) { return each.key == key; });
    if (known != holdings_.end()) {
      held_ = &*known;
      ResetState();
      ApplyState(choice, *run_.layout);
      const MemoryJob& job = resolved_.memory->job();
      if (!held_->refused) {
        resolved_.memory->SetSharding(
            ShardingOf(*run_.layout, job.state.sharding.data_parallel_size));
        SelectMicroBatches(MicroBatchKeyOf(choice));
      }
      return absl::OkStatus();
    }
  }
  run_.training.recompute = given_recompute_;
  run_.layout->kernels.recomputation = given_parts_;
  ResetState();
  ApplyTo(choice, layer_count, run_);
  absl::optional<MemoryModel> before;
  if (of_model) before = std::move(resolved_.memory);
  SEXTANT_RETURN_IF_ERROR(MakeModel());
  if (resolved_.memory.has_value()) {
    SelectStages(choice);
  } else if (of_model) {
    resolved_.memory = std::move(before);
    held_ = &HoldingsOf(HoldingsKeyOf(choice));
    held_->refused = true;
  }
  return absl::OkStatus();
}

// The memory of the run's layout, or none where it is refused.
absl::Status LayoutEvaluator::MakeModel() {
  resolved_.memory.reset();
  Base& base = BaseFor(PaddedVocabularyOf(*run_.layout, *resolved_.shape.architecture));
  resolved_.padded = base.padded;
  FieldViolations violations;
  MemoryJob job = JobOf(resolved_.context_of(run_), ChoiceOf(run_), violations);
  if (!violations.empty()) return absl::OkStatus();
  if (!base.model.has_value()) {
    auto model = MemoryModelOf(resolved_.shape, base.padded, std::move(job));
    if (model.ok()) resolved_.memory = base.model = *std::move(model);
    return absl::OkStatus();
  }
  const std::vector<int64_t>& layers = job.layout.layers_per_chunk;
  std::unique_ptr<Placements>& placements = base.placements[layers];
  if (placements == nullptr) placements = std::make_unique<Placements>(layers, work_);
  auto model = base.model->With(std::move(job), placements->cache);
  if (model.ok()) resolved_.memory = *std::move(model);
  return absl::OkStatus();
}

LayoutEvaluator::Base& LayoutEvaluator::BaseFor(int64_t padded_vocabulary) {
  for (Base& base : bases_) {
    if (VocabularyOf(base.padded.get()) == padded_vocabulary) return base;
  }
  Base& base = bases_.emplace_back();
  base.padded = PaddedShape(*run_.layout, *resolved_.shape.architecture);
  return base;
}

LayoutEvaluator::HoldingsKey LayoutEvaluator::HoldingsKeyOf(const LayoutChoice& choice) const {
  const MemoryJob& job = resolved_.memory->job();
  const bool casts_blocks =
      job.buffers.autocast && job.batch.recomputation.policy == RecomputePolicy::kFull;
  return {.zero_stage = choice.zero_stage,
          .shard_group = choice.shard_group,
          .stays_gathered = choice.stays_gathered,
          .offload = choice.offload,
          .recomputed_block = casts_blocks ? choice.recompute.layers_per_block : 0,
          .single = job.pipeline.micro_batch_count == 1};
}

LayoutEvaluator::MicroBatchKey LayoutEvaluator::MicroBatchKeyOf(const LayoutChoice& choice) const {
  const MemoryJob& job = resolved_.memory->job();
  const BufferSpec& buffers = job.buffers;
  const bool counts = buffers.gradient_lifetime == GradientLifetime::kFromBackward ||
                      buffers.keeps_stage_inputs || job.pipeline.deferred_head_gradients > 0;
  return {
      .tensor = choice.tensor,
      .context = choice.context,
      .expert = choice.expert,
      .expert_tensor = choice.expert_tensor,
      .micro_batch = choice.micro_batch,
      .recompute = choice.recompute,
      .kernels = choice.kernels,
      .sequence_parallel = choice.sequence_parallel,
      .divides_gradients = !buffers.fused_weight_gradient && DividesGradients(job.state.sharding),
      .count = counts ? job.pipeline.micro_batch_count : 0,
      .vocabulary = VocabularyOf(resolved_.padded.get())};
}

// Finds what is known of the stages of `choice`, of which the model is.
void LayoutEvaluator::SelectStages(const LayoutChoice& choice) {
  const MicroBatchKey key = MicroBatchKeyOf(choice);
  const bool same = choice.pipeline == choice_.pipeline && choice.tensor == choice_.tensor &&
                    choice.virtual_stages == choice_.virtual_stages &&
                    choice.context == choice_.context && choice.expert == choice_.expert &&
                    choice.expert_tensor == choice_.expert_tensor &&
                    choice.schedule == choice_.schedule && choice.kernels == choice_.kernels &&
                    key.vocabulary == micro_batch_key_.vocabulary;
  if (!same) {
    holdings_.clear();
    known_.runs.clear();
    selected_ = nullptr;
  }
  choice_ = choice;
  SelectMicroBatches(key);
  held_ = &HoldingsOf(HoldingsKeyOf(choice));
}

void LayoutEvaluator::SelectMicroBatches(const MicroBatchKey& key) {
  if (selected_ != nullptr && key == micro_batch_key_) return;
  micro_batch_key_ = key;
  selected_ = &MicroBatchesOf(key);
  known_.costs = &selected_->costs;
  known_.has_chunks = false;
  times_.clear();
  steps_.clear();
}

size_t LayoutEvaluator::MaxKept() const {
  const size_t devices = predictor_ == nullptr ? 0 : predictor_->devices().size();
  const size_t kinds = resolved_.shape.architecture->layer_kinds.size();
  const size_t more = kinds - std::min(kinds, kInlinedKinds);
  const size_t bytes = sizeof(MicroBatches) + more * (sizeof(LayerCost) + sizeof(LayerWalk)) +
                       kDivisions * devices * (sizeof(WorkTable) + more * sizeof(WorkSeconds));
  return std::clamp<size_t>(kMaxKeptBytes / bytes, 1, kMaxKept);
}

// Layers do the same work in recomputed blocks of any number.
LayoutEvaluator::MicroBatches& LayoutEvaluator::MicroBatchesOf(const MicroBatchKey& key) {
  if (micro_batches_.size() >= MaxKept()) micro_batches_.clear();
  if (const auto known = micro_batches_.find(key); known != micro_batches_.end()) {
    return *known->second;
  }
  const absl::Span<const int> alike_kinds = resolved_.memory->weights().model().alike_kinds();
  auto out = std::make_unique<MicroBatches>(alike_kinds);
  MicroBatchKey alone = key;
  alone.recompute.layers_per_block = 1;
  if (alone == key) {
    const size_t devices = predictor_ == nullptr ? 0 : predictor_->devices().size();
    out->work =
        std::make_shared<std::vector<WorkTable>>(kDivisions * devices, WorkTable(alike_kinds));
  } else {
    out->work = MicroBatchesOf(alone).work;
  }
  return *(micro_batches_[key] = std::move(out));
}

LayoutEvaluator::Holdings& LayoutEvaluator::HoldingsOf(const HoldingsKey& key) {
  for (Holdings& each : holdings_) {
    if (each.key == key) return each;
  }
  if ((holdings_.size() + 1) * static_cast<size_t>(resolved_.memory->stage_count()) >
      kMaxHeldStages) {
    holdings_.clear();
  }
  return holdings_.emplace_back(Holdings{.key = key});
}

absl::StatusOr<BytesInterval> LayoutEvaluator::PeakProcess() {
  known_.has_holdings = !held_->held.empty();
  for (size_t i = 0; i < held_->held.size(); ++i) known_.runs[i].content.held = held_->held[i];
  auto process = resolved_.memory->PeakProcess(known_, work_);
  if (!process.ok()) {
    known_.runs.clear();
    known_.has_chunks = false;
    holdings_.clear();
    return process;
  }
  if (held_->held.empty()) {
    held_->held.reserve(known_.runs.size());
    for (const KnownStages::Run& run : known_.runs) held_->held.push_back(run.content.held);
  }
  return process;
}

// The verdict on host memory of the layout whose peak was computed last.
Verdict LayoutEvaluator::HostVerdict() const {
  const MemoryModel& model = *resolved_.memory;
  if (!model.job().state.sharding.offload_optimizer) return Verdict::kFits;
  const int64_t stages = model.stage_count();
  FullestServer fullest(resolved_.server.device_count);
  for (size_t i = 0; i < known_.runs.size(); ++i) {
    const int64_t next = i + 1 < known_.runs.size() ? known_.runs[i + 1].first_stage : stages;
    fullest.Add((next - known_.runs[i].first_stage) * (run_.cluster.device_count / stages),
                known_.runs[i].content.held.state.host);
  }
  return HostVerdictOf(fullest.need(), resolved_.server, run_.cluster.device_count);
}

size_t LayoutEvaluator::Division() const {
  const MemoryJob& job = resolved_.memory->job();
  const StateSharding& sharding = job.state.sharding;
  if (!DividesParameters(sharding)) return 0;
  const StateRanks ranks = StateRanksOf(job.layout, sharding, job.batch.context_parallel_size);
  return (ranks.dense > 1 ? 1 : 0) + (ranks.expert > 1 ? 2 : 0);
}

// The device whose kernels take longest decides: all others wait for it.
void LayoutEvaluator::PrepareStep() {
  const MemoryModel& model = *resolved_.memory;
  const absl::Span<const StepPredictor::Device> devices = predictor_->devices();
  if (!held_->exchanges.has_value()) held_->exchanges.emplace(predictor_->ExchangesOf(model.job()));
  const ComputeInput compute = predictor_->ComputeOf(model);
  times_.resize(kDivisions * devices.size());
  steps_.resize(times_.size());
  held_->seconds.resize(devices.size());
  const size_t first = Division() * devices.size();
  slowest_ = first;
  double longest = -1;
  for (size_t i = 0; i < devices.size(); ++i) {
    FillTimes(i, first + i, predictor_->StagesOf(compute, devices[i], *held_->exchanges));
    if (devices.size() == 1) break;
    for (const StageTime& time : times_[first + i]) {
      if (time.kernels() <= longest) continue;
      longest = time.kernels();
      slowest_ = first + i;
    }
  }
}

StepInput LayoutEvaluator::Step() const {
  return predictor_->StepOf(resolved_.memory->job(), *held_->exchanges, times_[slowest_]);
}

Seconds LayoutEvaluator::SecondsWhere(StepRate rate, double slowness) const {
  return StepSecondsWhere(Step(), rate, slowness);
}

// A measured step that says nothing of recomputation recomputes as the run does.
absl::Status LayoutEvaluator::Calibrate() {
  const RecomputePolicy policy = run_.training.recompute;
  auto known = std::find_if(measured_.begin(), measured_.end(),
                            [policy](const auto& each) { return each.first == policy; });
  if (known == measured_.end()) {
    SEXTANT_ASSIGN_OR_RETURN(MeasuredRatio ratio, MeasuredRatio::Of(run_, resolved_, work_));
    known = measured_.emplace(measured_.end(), policy, std::move(ratio));
  }
  step_.seconds = StepInterval(Step(), step_);
  Apply(known->second.For(resolved_.memory->job()), step_);
  return absl::OkStatus();
}

// `table`: the index of `device`'s tables.
void LayoutEvaluator::FillTimes(size_t device, size_t table, const StageTimeInput& in) {
  std::vector<StageTime>& times = times_[table];
  std::vector<StateSeconds>& seconds = held_->seconds[device];
  if (times.empty() || seconds.empty()) {
    ModelOperations operations(in.compute, priced_[device]);
    if (times.empty()) {
      times.reserve(known_.runs.size());
      for (size_t i = 0; i < known_.runs.size(); ++i) {
        const int64_t first = known_.runs[i].first_stage;
        const int64_t next = i + 1 < known_.runs.size() ? known_.runs[i + 1].first_stage
                                                        : in.compute.model.stage_count();
        times.push_back(StageWorkOf(in, operations, (*selected_->work)[table], first));
        times.back().stage_count = next - first;
      }
    }
    if (seconds.empty()) {
      for (const KnownStages::Run& run : known_.runs) {
        seconds.push_back(StateSecondsOf(in, operations, run.first_stage));
      }
    }
  }
  for (size_t i = 0; i < times.size(); ++i) times[i].state = seconds[i];
}

}  // namespace sextant
