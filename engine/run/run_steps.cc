#include "engine/run/run_steps.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/accelerator.h"
#include "engine/memory/model_state.h"
#include "engine/run/step_predictor.h"

namespace sextant {
namespace {

constexpr char kMeasuredStepPath[] = "measured_step";
constexpr char kSecondsPath[] = "measured_step.seconds";
constexpr char kRamp[] = "layout.batch_ramp";
constexpr char kBatch[] = "layout.global_batch_size";
constexpr double kOtherWork = 2;  // doublings
constexpr double kFarthest = 16;  // likewise

// The run whose step was measured, of which the result is a variant in the other parts.
RunSpec MeasuredRunOf(const RunSpec& run) {
  const MeasuredStep& measured = *run.measured_step;
  RunSpec out = run;
  out.measured_step.reset();
  out.options = {};
  out.layout = measured.layout;
  if (!out.layout->global_batch_size.has_value()) {
    out.layout->global_batch_size = run.layout->global_batch_size;
  }
  if (measured.device_count.has_value()) out.cluster.device_count = *measured.device_count;
  if (measured.sequence_length.has_value()) {
    out.training.sequence_length = measured.sequence_length;
  }
  if (measured.recompute.has_value()) out.training.recompute = measured.recompute;
  return out;
}

// The field of the measured step that has the run's `field`.
std::string MeasuredField(absl::string_view field) {
  if (absl::StartsWith(field, "layout")) return absl::StrCat(kMeasuredStepPath, ".", field);
  if (field != "cluster.device_count" && !absl::StartsWith(field, "training.")) {
    return std::string(field);
  }
  return absl::StrCat(kMeasuredStepPath, ".", field.substr(field.rfind('.') + 1));
}

double Doublings(int64_t one, int64_t other) {
  return std::abs(std::log2(static_cast<double>(one) / static_cast<double>(other)));
}

void Scale(double ratio, std::vector<LongOperation>& operations) {
  for (LongOperation& each : operations) {
    each.seconds = each.seconds * ratio;
    each.rate = each.rate * (1 / ratio);
  }
}

// The least time of a step, on devices that waste none.
struct LeastStep {
  Seconds seconds = {};
  std::string why = {};
};

// The FLOPs of a token, recomputation included, counted exactly, whatever convention the run's
// times use. Absent without a shape.
absl::StatusOr<absl::optional<Flops>> ExactFlops(const RunSpec& run, const ResolvedRun& resolved) {
  const FlopsConvention used = resolved.flops.convention;
  if (used != FlopsConvention::kExactFull && used != FlopsConvention::kExactCausalDiagonal) {
    if (!resolved.flops.hardware.has_value()) return absl::nullopt;
    return resolved.flops.hardware->hardware_per_token;
  }
  RunSpec exact = run;
  exact.options = {};
  SEXTANT_ASSIGN_OR_RETURN(const RunFlops counted,
                           RunFlopsOf(exact, {.model = resolved.shape.checked.get(),
                                              .parameters = resolved.parameters}));
  return counted.hardware->hardware_per_token;
}

// The time of the FLOPs of `token_count` tokens at the devices' peak.
absl::StatusOr<LeastStep> LeastOfFlops(const RunSpec& run, const ResolvedRun& resolved,
                                       int64_t token_count) {
  if (!resolved.peak.has_value()) return LeastStep();
  SEXTANT_ASSIGN_OR_RETURN(const absl::optional<Flops> per_token, ExactFlops(run, resolved));
  if (!per_token.has_value()) return LeastStep();
  const double flops = per_token->value() * static_cast<double>(token_count);
  const auto devices = static_cast<double>(run.cluster.device_count);
  LeastStep out = {.seconds = Seconds(flops / devices / resolved.peak->value())};
  out.why = absl::StrFormat("its %.4g FLOPs on %d devices of %.4g FLOP/s", flops,
                            run.cluster.device_count, resolved.peak->value());
  return out;
}

// The time in which the optimizer reads and writes weights and its state once, at the peak of the
// devices' memories. Caches may hold some of it from one step to the next.
absl::StatusOr<LeastStep> LeastOfBytes(const RunSpec& run, const ResolvedRun& resolved) {
  const StateSharding& sharding = resolved.memory->job().state.sharding;
  const Accelerator* const device = resolved.accelerator;
  if (device == nullptr || !device->memory_bandwidth_bytes_per_second || !device->cache_bytes ||
      sharding.offload_optimizer || sharding.offload_parameters) {
    return LeastStep();
  }
  static const WeightTensors& none = *new WeightTensors;
  const WeightTensors& tensors =
      resolved.shape.checked != nullptr ? resolved.shape.checked->tensors() : none;
  SEXTANT_ASSIGN_OR_RETURN(
      const ModelState state,
      ModelStateOf(resolved.parameters.all, tensors, resolved.precision, run.training.optimizer));
  const auto devices = static_cast<double>(run.cluster.device_count);
  const double held =
      static_cast<double>(CheckpointOf(state, resolved.parameters.all).size.value()) / devices;
  const double moved = 2 * std::max(0.0, held - device->cache_bytes.value);
  const double rate = device->memory_bandwidth_bytes_per_second.value;
  LeastStep out = {.seconds = Seconds(moved / rate)};
  out.why = absl::StrFormat(
      "the %.4g bytes of weights and optimizer state that each device reads "
      "and writes at %.4g bytes a second",
      moved, rate);
  return out;
}

absl::StatusOr<LeastStep> LeastStepOf(const RunSpec& run, const ResolvedRun& resolved,
                                      int64_t token_count) {
  SEXTANT_ASSIGN_OR_RETURN(LeastStep flops, LeastOfFlops(run, resolved, token_count));
  SEXTANT_ASSIGN_OR_RETURN(LeastStep bytes, LeastOfBytes(run, resolved));
  return flops.seconds < bytes.seconds ? bytes : flops;
}

// Refuses a step that its devices can't have taken.
absl::Status CheckPossible(double seconds, const LeastStep& least) {
  if (seconds >= least.seconds.value()) return absl::OkStatus();
  return InvalidField(
      kSecondsPath,
      absl::StrFormat("is %.4g, %.4g times as fast as the devices can be: %s take %.4g s; give the "
                      "seconds of a whole optimizer step, or correct measured_step.layout, "
                      "device_count or cluster.peak_flops_per_second",
                      seconds, least.seconds.value() / seconds, least.why, least.seconds.value()));
}

// Refuses a measured step that makes the run's impossible, though its own is not: it is far shorter
// than predicted for its layout. `alone` is the run's step without it.
absl::Status CheckCalibrated(const StepCalibration& found, Seconds alone, const LeastStep& least) {
  if (alone < least.seconds || alone * found.factor >= least.seconds) return absl::OkStatus();
  const double shared = std::log(found.factor) / std::log(found.ratio);
  const double enough =
      found.predicted.value() * std::pow(least.seconds.value() / alone.value(), 1 / shared);
  return InvalidField(
      kSecondsPath,
      absl::StrFormat("is %.3g of the %.4g s that are predicted for measured_step.layout, which "
                      "makes the run's step %.4g s: %s take %.4g s; give at least %.4g, or correct "
                      "measured_step.layout and its software",
                      found.ratio, found.predicted.value(), alone.value() * found.factor, least.why,
                      least.seconds.value(), enough));
}

Note NoteOf(const StepCalibration& found) {
  return {
      .kind = NoteKind::kStepCalibrated,
      .text = absl::StrFormat(
          "The measured step took %.3g times as long as predicted for its layout; %s.", found.ratio,
          found.applied
              ? absl::StrFormat("the prediction is multiplied by %.3g, at a distance of "
                                "%.3g doublings",
                                found.factor, found.distance)
              : "the run's layout is too unlike it, so that its prediction stays as it is"),
      .values = {{"measured_over_predicted", found.ratio},
                 {"distance", found.distance},
                 {"factor", found.factor}},
      .fields = {kMeasuredStepPath}};
}

int64_t StepsIn(int64_t tokens, int64_t step_tokens) {
  return (tokens + step_tokens - 1) / step_tokens;
}

// An error about a batch that is the phase's.
absl::Status InPhase(const absl::Status& status, size_t phase) {
  return WithPaths(status, [phase](absl::string_view field) {
    return field == kBatch ? absl::StrCat(kRamp, "[", phase, "].global_batch_size")
                           : std::string(field);
  });
}

// Refuses the phases of `run`, of which the first `count` are all that a plan may predict.
absl::Status TooMany(const RunSpec& run, size_t count) {
  return InvalidField(
      kRamp, absl::StrCat("has ", run.layout->batch_ramp.size(),
                          " phases, which take too long to predict on ",
                          run.layout->parallel.pipeline_parallel_size.value_or(1), " x ",
                          run.layout->parallel.virtual_stage_count.value_or(1), " stages: ",
                          count == 0 ? "leave it out" : absl::StrCat("give at most ", count),
                          ", or fewer stages or kinds of layers"));
}

// Predicts the step of a run under other batches, which change nothing but the number of
// micro-batches.
class PhaseTimer {
 public:
  PhaseTimer(const RunSpec& run, const ResolvedRun& resolved, const StepAnswer& answer,
             CallWork& work)
      : run_(run),
        resolved_(resolved),
        predictor_(answer.predictor.get()),
        work_(work),
        choice_(ChoiceOf(run)),
        layouts_(run.layout->parallel.layers_per_chunk, work) {
    choice_.layout.parallel.layers_per_chunk.clear();  // layouts_ has them
  }

  // 0 where the step is not predicted. Errors: kInvalidArgument for a batch that the layout can't
  // divide; those of PlanStep().
  absl::StatusOr<Seconds> StepOf(int64_t global_batch_size) {
    choice_.layout.global_batch_size = global_batch_size;
    SEXTANT_ASSIGN_OR_RETURN(const MemoryModel model,
                             resolved_.MemoryWith(run_, choice_, layouts_));
    if (predictor_ == nullptr) return Seconds(0);
    return Predict(model);
  }

 private:
  absl::StatusOr<Seconds> Predict(const MemoryModel& model) {
    const ExchangePricer exchanges = predictor_->ExchangesOf(model.job());
    SEXTANT_RETURN_IF_ERROR(FillStages(model, exchanges));
    // Their pipeline has another number of micro-batches.
    known_.stages.clear();
    known_.has_pipeline = false;
    const StepInput input = predictor_->StepOf(model.job(), exchanges, stages_);
    const StepEstimate step = ExpectedStep(input, known_);
    SEXTANT_RETURN_IF_ERROR(work_.Spend(EstimateSteps(input, step)));
    return step.seconds.expected;
  }

  // Stages work alike whatever their number of micro-batches, unless WorkDependsOnCount().
  absl::Status FillStages(const MemoryModel& model, const ExchangePricer& exchanges) {
    const int64_t count =
        WorkDependsOnCount(model.job()) ? model.job().pipeline.micro_batch_count : 0;
    if (!stages_.empty() && count == micro_batches_) return absl::OkStatus();
    micro_batches_ = count;
    known_ = {};
    SEXTANT_ASSIGN_OR_RETURN(stages_, predictor_->SlowestStages(model, exchanges, work_));
    return absl::OkStatus();
  }

  const RunSpec& run_;
  const ResolvedRun& resolved_;
  const StepPredictor* const predictor_;  // null: the step is not predicted
  CallWork& work_;
  JobChoice choice_;
  LayoutCache layouts_;
  int64_t micro_batches_ = 0;      // of stages_, where these depend on it
  std::vector<StageTime> stages_;  // of the slowest device
  KnownStep known_;                // of stages_
};

}  // namespace

double DistanceOf(const MemoryJob& one, const MemoryJob& other) {
  return Doublings(one.layout.tensor_parallel_size, other.layout.tensor_parallel_size) +
         Doublings(one.layout.pipeline_parallel_size, other.layout.pipeline_parallel_size) +
         Doublings(one.layout.virtual_stage_count, other.layout.virtual_stage_count) +
         Doublings(one.layout.expert_parallel_size, other.layout.expert_parallel_size) +
         Doublings(one.batch.context_parallel_size, other.batch.context_parallel_size) +
         Doublings(one.batch.sequence_count, other.batch.sequence_count) +
         Doublings(one.state.sharding.data_parallel_size, other.state.sharding.data_parallel_size) +
         (one.batch.recomputation.policy != other.batch.recomputation.policy ? kOtherWork : 0) +
         (one.batch.attention != other.batch.attention ? kOtherWork : 0);
}

double ErrorSharedAt(double distance) { return std::max(0.0, 1 - distance / kFarthest); }

absl::StatusOr<MeasuredRatio> MeasuredRatio::Of(const RunSpec& run, const ResolvedRun& resolved_run,
                                                CallWork& work) {
  const RunSpec measured = MeasuredRunOf(run);
  const absl::StatusOr<ResolvedRun> resolved =
      resolved_run.With(measured, {.training = true, .layout = true, .device_count = true}, work);
  if (!resolved.ok()) return WithPaths(resolved.status(), MeasuredField);
  absl::StatusOr<StepAnswer> step = PlanStep(measured, *resolved, work);
  if (!step.ok()) return WithPaths(step.status(), MeasuredField);
  if (!step->step.has_value()) {
    return InvalidField(kMeasuredStepPath,
                        "has a layout whose step is not predicted: leave it out");
  }
  SEXTANT_ASSIGN_OR_RETURN(const LeastStep least,
                           LeastStepOf(measured, *resolved, step->step->token_count));
  SEXTANT_RETURN_IF_ERROR(CheckPossible(run.measured_step->seconds, least));
  MeasuredRatio out;
  out.job_ = resolved->memory->job();
  out.predicted_ = step->step->estimate.seconds.expected;
  out.ratio_ = run.measured_step->seconds / out.predicted_.value();
  return out;
}

StepCalibration MeasuredRatio::For(const MemoryJob& job) const {
  StepCalibration out = {
      .ratio = ratio_, .predicted = predicted_, .distance = DistanceOf(job, job_)};
  const bool alike =
      ExchangesHeads(job.batch) == ExchangesHeads(job_.batch) &&
      job.state.sharding.offload_optimizer == job_.state.sharding.offload_optimizer &&
      job.state.sharding.offload_parameters == job_.state.sharding.offload_parameters;
  const double shared = alike ? ErrorSharedAt(out.distance) : 0;
  out.applied = shared > 0;
  out.factor = std::pow(ratio_, shared);
  return out;
}

void Apply(const StepCalibration& found, StepEstimate& step) {
  if (!found.applied) return;
  for (double& part : step.parts) part *= found.factor;
  SecondsInterval& seconds = step.seconds;
  seconds = seconds * found.factor;
  if (found.distance > kNearLayout) return;
  seconds.low = seconds.expected * std::exp(-kCalibratedEnd);
  seconds.high = seconds.expected * std::exp(kCalibratedEnd);
}

absl::Status Calibrate(const RunSpec& run, const ResolvedRun& resolved, CallWork& work,
                       StepAnswer& answer) {
  if (!run.measured_step.has_value() || !answer.step.has_value()) return absl::OkStatus();
  SEXTANT_ASSIGN_OR_RETURN(const MeasuredRatio ratio, MeasuredRatio::Of(run, resolved, work));
  const StepCalibration found = ratio.For(resolved.memory->job());
  SEXTANT_ASSIGN_OR_RETURN(const LeastStep least,
                           LeastStepOf(run, resolved, answer.step->token_count));
  SEXTANT_RETURN_IF_ERROR(CheckCalibrated(found, answer.step->estimate.seconds.expected, least));
  Apply(found, answer.step->estimate);
  Scale(found.factor, answer.step->longest_operations);
  answer.step->calibration = found;
  answer.notes.push_back(NoteOf(found));
  return absl::OkStatus();
}

absl::StatusOr<RunSteps> StepsOf(const RunSpec& run, const ResolvedRun& resolved,
                                 const StepAnswer& answer, CallWork& work) {
  const absl::optional<StepPlan>& step = answer.step;
  const RunLayout& layout = *run.layout;
  const int64_t length = *run.training.sequence_length;
  // A measured step says the same of all phases, which have one layout.
  const double factor =
      step.has_value() && step->calibration.has_value() ? step->calibration->factor : 1;
  RunSteps out;
  int64_t left = run.training.token_count;
  const auto add = [&](int64_t tokens, int64_t batch, Seconds each) {
    out.phases.push_back({.token_count = tokens, .step_tokens = batch * length, .step = each});
    out.count += StepsIn(tokens, batch * length);
    left -= tokens;
  };
  absl::optional<PhaseTimer> timer;
  if (!layout.batch_ramp.empty()) timer.emplace(run, resolved, answer, work);
  for (size_t i = 0; i < layout.batch_ramp.size(); ++i) {
    const BatchPhase& phase = layout.batch_ramp[i];
    const absl::StatusOr<Seconds> each = timer->StepOf(phase.global_batch_size);
    if (!each.ok()) return InPhase(each.status(), i);
    if (work.left() < 0) return TooMany(run, i);
    add(phase.token_count, phase.global_batch_size, *each * factor);
  }
  const Seconds last = step.has_value() ? step->estimate.seconds.expected : Seconds(0);
  add(left, *layout.global_batch_size, last);
  if (!step.has_value()) return out;
  double seconds = 0;
  for (const PhaseSteps& phase : out.phases) {
    seconds += phase.step.value() * static_cast<double>(phase.token_count) /
               static_cast<double>(phase.step_tokens);
  }
  // The phases' errors are shared.
  const SecondsInterval& one = step->estimate.seconds;
  const double all = seconds / last.value();
  out.duration = {one.low * all, Seconds(seconds), one.high * all};
  return out;
}

}  // namespace sextant
