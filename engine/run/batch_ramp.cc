#include "engine/run/batch_ramp.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/run/job.h"
#include "engine/run/step_predictor.h"

namespace sextant {
namespace {

constexpr char kRamp[] = "layout.batch_ramp";
constexpr char kBatch[] = "layout.global_batch_size";
constexpr int64_t kMaxPhaseTokens = 1'000'000'000'000'000'000;  // and of a step

std::string PhasePath(size_t i) { return absl::StrCat(kRamp, "[", i, "]"); }

int64_t StepsIn(int64_t tokens, int64_t step_tokens) {
  return (tokens + step_tokens - 1) / step_tokens;
}

// `status` about the batch of a run, as one about a phase's.
absl::Status InPhase(const absl::Status& status, size_t phase) {
  FieldViolations violations;
  for (const FieldViolation& each : FieldViolationsOf(status)) {
    violations.Add(
        each.field == kBatch ? absl::StrCat(PhasePath(phase), ".global_batch_size") : each.field,
        each.description);
  }
  return violations.empty() ? status : violations.ToStatus();
}

// Refuses the phases of `run`, of which the first `count` are all that a plan may predict.
absl::Status TooMany(const RunSpec& run, size_t count) {
  return InvalidField(
      kRamp, absl::StrCat("has ", run.layout->batch_ramp.size(),
                          " phases, which take too long to predict on ",
                          run.layout->parallel.pipeline_parallel_size, " x ",
                          run.layout->parallel.virtual_stage_count, " stages: ",
                          count == 0 ? "leave it out" : absl::StrCat("give at most ", count),
                          ", or fewer stages or kinds of layers"));
}

// Predicts the step of a run under other batches, which change nothing but the number of
// micro-batches.
class PhaseTimer {
 public:
  PhaseTimer(const RunSpec& run, const ResolvedRun& resolved, CallWork& work)
      : run_(run),
        resolved_(resolved),
        work_(work),
        choice_(ChoiceOf(run)),
        layouts_(run.layout->parallel.layers_per_chunk, work) {
    choice_.layout.parallel.layers_per_chunk.clear();  // layouts_ has them
  }

  // 0 where the step is not predicted. Errors: kInvalidArgument for a batch that the layout can't
  // divide; those of PlanStep().
  absl::StatusOr<Seconds> StepOf(int64_t global_batch_size, bool is_timed) {
    choice_.layout.global_batch_size = global_batch_size;
    FieldViolations violations;
    MemoryJob job = JobOf({resolved_.counted_shape(), resolved_.precision, run_.training.optimizer,
                           resolved_.generation},
                          choice_, violations);
    SEXTANT_RETURN_IF_ERROR(violations.ToStatus());
    absl::StatusOr<MemoryModel> model = resolved_.memory->With(std::move(job), layouts_);
    if (!model.ok()) return InRequestFields(model.status());
    if (!is_timed) return Seconds(0);
    return Predict(*model);
  }

 private:
  absl::StatusOr<Seconds> Predict(const MemoryModel& model) {
    if (predictor_ == nullptr) {
      SEXTANT_ASSIGN_OR_RETURN(predictor_, StepPredictor::Of(run_, resolved_, work_));
    }
    const ExchangePricer exchanges = predictor_->ExchangesOf(model.job());
    SEXTANT_RETURN_IF_ERROR(FillStages(model, exchanges));
    known_.stages.clear();  // their pipeline has another number of micro-batches
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
  CallWork& work_;
  JobChoice choice_;
  LayoutCache layouts_;
  std::unique_ptr<const StepPredictor> predictor_;
  int64_t micro_batches_ = 0;      // of stages_, where these depend on it
  std::vector<StageTime> stages_;  // of the slowest device
  KnownStep known_;                // of stages_
};

}  // namespace

void CheckBatchRamp(const RunSpec& run, FieldViolations& violations) {
  if (!run.layout.has_value() || run.layout->batch_ramp.empty()) return;
  const std::vector<BatchPhase>& ramp = run.layout->batch_ramp;
  if (!run.layout->global_batch_size.has_value()) {
    violations.Add(kRamp, "leads to layout.global_batch_size: give that too");
  }
  if (ramp.size() > kMaxBatchPhases) {
    violations.Add(
        kRamp, absl::StrCat("must have at most ", kMaxBatchPhases, " phases, not ", ramp.size()));
    return;
  }
  const int64_t length = std::max<int64_t>(run.training.sequence_length.value_or(1), 1);
  int64_t left = run.training.token_count;
  for (size_t i = 0; i < ramp.size(); ++i) {
    if (ramp[i].global_batch_size < 1) {
      violations.Add(absl::StrCat(PhasePath(i), ".global_batch_size"), "is required, at least 1");
    } else if (ramp[i].global_batch_size > kMaxPhaseTokens / length) {
      violations.Add(absl::StrCat(PhasePath(i), ".global_batch_size"),
                     absl::StrCat("must be at most ", kMaxPhaseTokens / length,
                                  ": a step has at most ", kMaxPhaseTokens, " tokens"));
    }
    left -= std::min(left, std::max<int64_t>(ramp[i].token_count, 0));
  }
  if (left <= 0 && run.training.token_count >= 1) {
    violations.Add(kRamp, absl::StrCat("must leave some of the run's ", run.training.token_count,
                                       " tokens (training.token_count) to "
                                       "layout.global_batch_size"));
  }
}

absl::StatusOr<RunSteps> StepsOf(const RunSpec& run, const ResolvedRun& resolved,
                                 const absl::optional<StepPlan>& step, CallWork& work) {
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
  if (!layout.batch_ramp.empty()) timer.emplace(run, resolved, work);
  for (size_t i = 0; i < layout.batch_ramp.size(); ++i) {
    const BatchPhase& phase = layout.batch_ramp[i];
    const absl::StatusOr<Seconds> each = timer->StepOf(phase.global_batch_size, step.has_value());
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
