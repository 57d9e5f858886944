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

namespace sextant {
namespace {

constexpr char kMeasuredStepPath[] = "measured_step";
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
  Apply(found, answer.step->estimate);
  Scale(found.factor, answer.step->longest_operations);
  answer.step->calibration = found;
  answer.notes.push_back(NoteOf(found));
  return absl::OkStatus();
}

}  // namespace sextant
