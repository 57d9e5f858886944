// Values that KnownLayouts does not keep are computed by PlanRun()'s own functions, so answers are
// equal to the last digit.
#include "engine/search/layout_evaluator.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/status_macros.h"

namespace sextant {
namespace {

constexpr int64_t kStepsALayout = 20;  // of CallWork, in addition to those that are counted inside
constexpr size_t kPricedSlots = 4096;  // of about 130 bytes

}  // namespace

LayoutEvaluator::LayoutEvaluator(RunSpec run, CallWork& work)
    : work_(work), base_{.run = std::move(run)} {}

absl::Status LayoutEvaluator::Prepare(FieldViolations found, bool offloads,
                                      const KnownParts& known) {
  RunSpec& run = base_.run;
  SEXTANT_ASSIGN_OR_RETURN(base_.resolved, Resolve(run, std::move(found), work_, known));
  const ResolvedRun& resolved = base_.resolved;
  const int64_t node = resolved.node != nullptr ? resolved.node->device_count : 1;
  base_.space = SpaceOf(
      run,
      {.spec = *resolved.shape.architecture,
       .parameter_count = resolved.parameters.all.total,
       .weight_bytes_each = StorageBytes(resolved.precision.weight_data_type),
       .node_devices = std::max<int64_t>(node, kTensorParallelField.in(*run.layout).value_or(1)),
       .usable = resolved.capacity.usable(),
       .attention = resolved.habits.attention,
       .offloads = offloads});
  base_.bound = StateBound(run, resolved);
  base_.untimed = MissingForStep(run, resolved);
  base_.given = ChoiceOf(run);
  if (base_.untimed.field.empty()) {
    // The layouts that are evaluated give both.
    run.training.recompute = base_.given.recompute;
    kVirtualStagesField.set(kVirtualStagesField.in(*run.layout).value_or(1), *run.layout);
    SEXTANT_ASSIGN_OR_RETURN(base_.predictor, StepPredictor::Of(run, resolved, work_));
    if (base_.predictor->devices().empty()) {
      base_.predictor.reset();
      base_.untimed = {
          "options.search",
          "times of matrix products, attention or memory passes are unknown on the device in "
          "the run's types: give a layout"};
    }
  }
  known_.emplace(base_, work_);
  for (size_t i = 0; i < base_.devices(); ++i) {
    priced_.emplace_back(base_.predictor->devices()[i].pricer, kPricedSlots);
  }
  return absl::OkStatus();
}

absl::StatusOr<absl::optional<LayoutOption>> LayoutEvaluator::Evaluate(const LayoutChoice& choice,
                                                                       bool times_all) {
  return EvaluateWithin(choice, times_all, [](const LayoutOption&) { return kNoLimit; });
}

absl::StatusOr<absl::optional<LayoutOption>> LayoutEvaluator::EvaluateWithin(
    const LayoutChoice& choice, bool times_all, StepLimit limit) {
  SEXTANT_RETURN_IF_ERROR(work_.Spend(kStepsALayout));
  if (!known_->Select(choice)) return absl::nullopt;
  const auto process = known_->PeakProcess();
  if (absl::IsInvalidArgument(process.status())) return absl::nullopt;
  SEXTANT_RETURN_IF_ERROR(process.status());
  LayoutOption out = {.choice = choice, .process = *process};
  out.fit_chance = FitChance(out.process, base_.resolved.capacity.usable());
  out.verdict = std::max(VerdictOf(out.fit_chance, base_.run.options.thresholds), HostVerdict());
  if (out.verdict == Verdict::kDoesNotFit && !times_all) return out;
  if (base_.predictor == nullptr) return absl::nullopt;
  PrepareStep();
  absl::optional<KnownStep>& known = known_->chunks().steps[slowest_];
  if (!known.has_value()) known.emplace();
  const bool is_measured = base_.run.measured_step.has_value();
  step_ = ExpectedStep(Step(), *known, is_measured ? kNoLimit : limit(out));
  if (is_measured) SEXTANT_RETURN_IF_ERROR(Calibrate());
  out.step = step_.seconds;
  return out;
}

void LayoutEvaluator::Complete(LayoutOption& option) const {
  const bool has_step = option.step.expected > Seconds(0);
  if (has_step && !base_.run.measured_step.has_value()) option.step = StepInterval(Step(), step_);
}

Seconds LayoutEvaluator::SecondsWhere(StepRate rate, double slowness) const {
  return StepSecondsWhere(Step(), rate, slowness);
}

StepInput LayoutEvaluator::Step() const {
  return base_.predictor->StepOf(known_->job(), *known_->state().exchanges,
                                 known_->chunks().times[slowest_]);
}

// The verdict on host memory of the layout whose peak was computed last.
Verdict LayoutEvaluator::HostVerdict() const {
  if (!known_->state().sharding.offload_optimizer) return Verdict::kFits;
  const int64_t devices = base_.run.cluster.device_count;
  FullestServer fullest(base_.resolved.server.device_count);
  for (size_t i = 0; i < known_->runs().size(); ++i) {
    fullest.Add(known_->StagesOf(i) * (devices / known_->memory().stage_count()),
                known_->state().held[i].state.host);
  }
  return HostVerdictOf(fullest.need(), base_.resolved.server, devices);
}

// The device whose kernels take longest decides: all others wait for it.
void LayoutEvaluator::PrepareStep() {
  const StepPredictor& predictor = *base_.predictor;
  const absl::Span<const StepPredictor::Device> devices = predictor.devices();
  LayoutState& state = known_->state();
  if (!state.exchanges.has_value()) state.exchanges.emplace(predictor.ExchangesOf(known_->job()));
  const ComputeInput compute = predictor.ComputeOf(known_->memory());
  state.seconds.resize(devices.size());
  known_->chunks().times.resize(kLayoutDivisions * devices.size());
  known_->chunks().steps.resize(kLayoutDivisions * devices.size());
  const size_t first = state.division * devices.size();
  slowest_ = first;
  double longest = -1;
  for (size_t i = 0; i < devices.size(); ++i) {
    FillTimes(i, first + i, predictor.StagesOf(compute, devices[i], *state.exchanges));
    if (devices.size() == 1) break;
    for (const StageTime& time : known_->chunks().times[first + i]) {
      if (time.kernels() <= longest) continue;
      longest = time.kernels();
      slowest_ = first + i;
    }
  }
}

// `table`: the index of `device`'s tables.
void LayoutEvaluator::FillTimes(size_t device, size_t table, const StageTimeInput& in) {
  const absl::Span<const KnownStages::Run> runs = known_->runs();
  LayoutChunks& chunks = known_->chunks();
  std::vector<StageTime>& times = chunks.times[table];
  std::vector<StateSeconds>& seconds = known_->state().seconds[device];
  if (times.empty() || seconds.empty()) {
    ModelOperations operations(in.compute, priced_[device]);
    if (times.empty()) times.reserve(runs.size());
    for (size_t i = times.size(); i < runs.size(); ++i) {
      times.push_back(StageWorkOf(in, operations, chunks.work[table], runs[i].first_stage));
      times.back().stage_count = known_->StagesOf(i);
    }
    for (size_t i = seconds.size(); i < runs.size(); ++i) {
      seconds.push_back(StateSecondsOf(in, operations, runs[i].first_stage));
    }
  }
  for (size_t i = 0; i < times.size(); ++i) times[i].state = seconds[i];
}

// A measured step that says nothing of recomputation recomputes as the layout does.
absl::Status LayoutEvaluator::Calibrate() {
  const RecomputePolicy policy = known_->job().batch.recomputation.policy;
  const auto& ratio = measured_.At(policy, [&] {
    RunSpec run = base_.run;
    run.training.recompute = policy;
    return MeasuredRatio::Of(run, base_.resolved, work_);
  });
  if (!ratio.ok()) {
    const absl::Status status = ratio.status();
    measured_.Clear();
    return status;
  }
  step_.seconds = StepInterval(Step(), step_);
  Apply(ratio->For(known_->job()), step_);
  return absl::OkStatus();
}

}  // namespace sextant
