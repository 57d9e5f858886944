#include "engine/run/batch_ramp.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status_macros.h"
#include "engine/run/resolve.h"

namespace sextant {
namespace {

constexpr char kRamp[] = "layout.batch_ramp";
constexpr char kBatch[] = "layout.global_batch_size";
constexpr int64_t kMaxPhaseTokens = 1'000'000'000'000'000'000;

std::string PhasePath(size_t i) { return absl::StrCat(kRamp, "[", i, "]"); }

int64_t StepsIn(int64_t tokens, int64_t step_tokens) {
  return (tokens + step_tokens - 1) / step_tokens;
}

// The run with the batch of one phase alone.
RunSpec WithBatch(const RunSpec& run, int64_t global_batch_size) {
  RunSpec out = run;
  out.options = {};
  out.measured_step.reset();
  out.layout->batch_ramp.clear();
  out.layout->global_batch_size = global_batch_size;
  return out;
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

absl::StatusOr<Seconds> StepOfPhase(const RunSpec& run, size_t phase, CallWork& work) {
  const RunSpec changed = WithBatch(run, run.layout->batch_ramp[phase].global_batch_size);
  absl::StatusOr<ResolvedRun> resolved = Resolve(changed, {});
  if (!resolved.ok()) return InPhase(resolved.status(), phase);
  absl::StatusOr<StepAnswer> answer = PlanStep(changed, *resolved, work);
  if (!answer.ok()) return InPhase(answer.status(), phase);
  // The last phase has a prediction exactly if this one has.
  return answer->step.has_value() ? answer->step->estimate.seconds.expected : Seconds(0);
}

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
  int64_t left = run.training.token_count;
  for (size_t i = 0; i < ramp.size(); ++i) {
    violations.Require(PhasePath(i), "token_count", ramp[i].token_count, 1, kMaxPhaseTokens);
    if (ramp[i].global_batch_size < 1) {
      violations.Add(absl::StrCat(PhasePath(i), ".global_batch_size"), "is required, at least 1");
    }
    left -= std::min(left, std::max<int64_t>(ramp[i].token_count, 0));
  }
  if (left <= 0 && run.training.token_count >= 1) {
    violations.Add(kRamp, absl::StrCat("must leave some of the run's ", run.training.token_count,
                                       " tokens (training.token_count) to "
                                       "layout.global_batch_size"));
  }
}

absl::StatusOr<RunSteps> StepsOf(const RunSpec& run, const absl::optional<StepPlan>& step,
                                 CallWork& work) {
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
  for (size_t i = 0; i < layout.batch_ramp.size(); ++i) {
    const BatchPhase& phase = layout.batch_ramp[i];
    SEXTANT_ASSIGN_OR_RETURN(const Seconds each, StepOfPhase(run, i, work));
    add(phase.token_count, phase.global_batch_size, each * factor);
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
