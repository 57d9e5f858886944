#include "engine/run/measured_step.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/field_violation.h"
#include "engine/base/status_macros.h"
#include "engine/hardware/accelerator.h"
#include "engine/memory/model_state.h"
#include "engine/run/run_flops.h"
#include "engine/run/whole_run.h"

namespace sextant {
namespace {

constexpr char kMeasuredStepPath[] = "measured_step";
constexpr char kSecondsPath[] = "measured_step.seconds";
constexpr double kOtherWork = 2;  // doublings
constexpr double kFarthest = 16;  // likewise

// The run whose step was measured.
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
  if (measured.recompute.has_value()) out.training.recompute = *measured.recompute;
  out.training.recompute_given |= measured.recompute.has_value();
  return out;
}

// `status` about the fields of a run, as one about those of its measured step.
absl::Status InMeasuredFields(const absl::Status& status) {
  FieldViolations violations;
  for (const FieldViolation& each : FieldViolationsOf(status)) {
    const absl::string_view field = each.field;
    if (absl::StartsWith(field, "layout")) {
      violations.Add(absl::StrCat(kMeasuredStepPath, ".", field), each.description);
    } else if (field == "cluster.device_count") {
      violations.Add(absl::StrCat(kMeasuredStepPath, ".device_count"), each.description);
    } else if (absl::StartsWith(field, "training.")) {
      violations.Add(absl::StrCat(kMeasuredStepPath, ".", field.substr(field.rfind('.') + 1)),
                     each.description);
    } else {
      violations.Add(each.field, each.description);
    }
  }
  return violations.empty() ? status : violations.ToStatus();
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

// The time of the FLOPs of `token_count` tokens, recomputation included, at the devices' peak.
// Counted exactly, whatever convention the run's times use.
absl::StatusOr<LeastStep> LeastOfFlops(const RunSpec& run, const ResolvedRun& resolved,
                                       int64_t token_count) {
  if (!resolved.peak.has_value()) return LeastStep();
  RunSpec exact = run;
  exact.options = {};
  SEXTANT_ASSIGN_OR_RETURN(const RunFlops counted,
                           RunFlopsOf(exact, {.model = resolved.shape.checked.get(),
                                              .parameters = resolved.parameters}));
  if (!counted.hardware.has_value()) return LeastStep();
  const double flops =
      counted.hardware->hardware_per_token.value() * static_cast<double>(token_count);
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

absl::StatusOr<MeasuredRatio> MeasuredRatio::Of(const RunSpec& run, CallWork& work) {
  const RunSpec measured = MeasuredRunOf(run);
  const absl::StatusOr<ResolvedRun> resolved = Resolve(measured, {});
  if (!resolved.ok()) return InMeasuredFields(resolved.status());
  absl::StatusOr<StepAnswer> step = PlanStep(measured, *resolved, work);
  if (!step.ok()) return InMeasuredFields(step.status());
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
  seconds = {seconds.low * found.factor, seconds.expected * found.factor,
             seconds.high * found.factor};
  if (found.distance > kNearLayout) return;
  seconds.low = seconds.expected * std::exp(-kCalibratedEnd);
  seconds.high = seconds.expected * std::exp(kCalibratedEnd);
}

absl::Status Calibrate(const RunSpec& run, const ResolvedRun& resolved, CallWork& work,
                       StepAnswer& answer) {
  if (!run.measured_step.has_value() || !answer.step.has_value()) return absl::OkStatus();
  SEXTANT_ASSIGN_OR_RETURN(const MeasuredRatio ratio, MeasuredRatio::Of(run, work));
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

}  // namespace sextant
