#include "engine/run/planned_run.h"

#include "absl/strings/str_cat.h"

namespace sextant {
namespace {

constexpr absl::string_view kByDefinition = "by definition";
constexpr absl::string_view kPlanPage = "docs/plan.md";

absl::string_view SourceOf(MfuBasis basis) {
  switch (basis) {
    case MfuBasis::kRequest:
      return "the request";
    case MfuBasis::kAssumed:
      return kAssumedMfuSource;
    case MfuBasis::kMeasuredRate:
      return "the measured rate of matrix multiplication";
    case MfuBasis::kFullPeak:
    case MfuBasis::kPredicted:
      break;
  }
  return kByDefinition;
}

// The derivation of a plan's times, money and energy, with the formulas by which it computes them:
// one method for each part of a plan. Term::Is() takes the plan's figure where that is exact, or
// has its factors in another order.
class TimeDerivation : private DerivationSteps {
 public:
  TimeDerivation(const RunSpec& run, const Plan& plan)
      : run_(run), plan_(plan), whole_(plan.whole_run) {
    steps_ = CountSteps(run, plan);
  }

  std::vector<DerivationStep> Take() {
    const TimeEstimate* const basis = BasisOf(plan_);
    AddCheckpoint();
    AddElapsed();
    for (const TimeEstimate& estimate : plan_.estimates) AddEstimate(estimate);
    AddSteps();
    if (whole_.data.has_value()) AddData(*whole_.data);
    if (basis != nullptr) AddByTime(*basis);
    AddTelemetry(basis);
    return std::move(steps_);
  }

 private:
  Term Devices() const { return {"device_count", run_.cluster.device_count}; }
  Term Tokens() const { return {"token_count", run_.training.token_count}; }
  Term UsedFlops() const { return {"flops", plan_.flops.used().run.value()}; }
  Term HardwareRatio() const {
    return {"flops.hardware_flops_ratio", plan_.flops.hardware->ratio()};
  }
  Term RateOf(absl::string_view quantity) const {
    for (const Rate& rate : plan_.rates) {
      if (rate.quantity == quantity) return {quantity, rate.value};
    }
    return {quantity, 0.0};
  }
  Term Stalls() const { return {"stall_ratio", whole_.elapsed.stalls}; }
  Term C() const { return {"C", whole_.interruptions.stall.value()}; }
  Term M() const { return {"M", whole_.interruptions.between_failures->value()}; }

  void AddCheckpoint() {
    const CheckpointPlan& checkpoint = whole_.checkpoint;
    Begin("whole_run.checkpoint.", kPlanPage);
    TermSum all("sum of the terms' size_bytes");
    for (const CheckpointTerm& term : checkpoint.terms) {
      Add(absl::StrCat("terms.", term.name, ".size_bytes"), {"given", term.size}, "byte");
      all.Add(Term("", term.size.value()));
    }
    Add("size_bytes", all.sum().Is(checkpoint.size), "byte");
    Add("resume_read_bytes", {"given", checkpoint.resume_read}, "byte");
    Add("resume_read_bytes_per_device", {"given", checkpoint.resume_read_per_device}, "byte");
    const double write = CheckpointWriteRate(run_).value_or(0);
    const double read = run_.interruptions.checkpoint_read_bytes_per_second.value_or(write);
    if (checkpoint.write.has_value()) {
      Add("write_seconds",
          Term("size_bytes", checkpoint.size) / Term("the slower of the rates given", write), "s");
    }
    if (checkpoint.resume.has_value()) {
      Add("resume_read_seconds",
          Term("resume_read_bytes", checkpoint.resume_read) /
              Term("checkpoint_read_bytes_per_second, else the rate of writes", read),
          "s");
    }
  }

  void AddElapsed() {
    const Interruptions& in = whole_.interruptions;
    const ElapsedShares& elapsed = whole_.elapsed;
    Begin("whole_run.", kPlanPage);
    if (in.interval.has_value()) AddInterval(in);
    Add("stall_ratio", {"given", elapsed.stalls}, "ratio");
    const Term work = 1 + Stalls();
    if (in.interval.has_value()) {
      const Term t("t", in.interval->value());
      Add("elapsed_per_second.checkpoints", formula::CheckpointShare(work, C(), t), "ratio");
      if (in.between_failures.has_value()) {
        const Term r("r", (in.restart + in.write - in.stall).value());
        Add("elapsed_per_second.failures",
            (work * formula::FailedShare(M(), r, t, C())).Is(elapsed.failures), "ratio");
      }
    }
    Add("elapsed_per_second",
        Term("steps", elapsed.steps) + Term("stalls", elapsed.stalls) +
            Term("checkpoints", elapsed.checkpoints) + Term("failures", elapsed.failures),
        "ratio");
    const auto share = [&](absl::string_view symbol, double part) {
      Add(symbol, (Term(part) / elapsed.all()).As("its part of elapsed_per_second"), "ratio");
    };
    share("goodput_ratio", elapsed.steps);
    share("stall_share", elapsed.stalls);
    share("checkpoint_share", elapsed.checkpoints);
    share("failure_share", elapsed.failures);
  }

  void AddInterval(const Interruptions& in) {
    const InterruptionSpec& spec = run_.interruptions;
    Add("checkpoint.stall_seconds",
        Term("write_seconds", in.write.value()) *
            Term("checkpoint_stall_ratio", spec.checkpoint_stall_ratio.value_or(1)),
        "s");
    if (in.between_failures.has_value()) {
      const Term failures("failures_per_device_hour", *spec.failures_per_device_hour);
      const Term ratio = C() / (2 * M()).As("2M");
      Add("mean_time_between_failures_seconds", formula::BetweenFailures(failures, Devices()), "s");
      Add("checkpoint.young_interval_seconds", formula::YoungInterval(C(), M()), "s");
      Add("checkpoint.daly_interval_seconds",
          formula::DalyInterval(C(), M(), ratio).Is(*whole_.checkpoint.daly_interval), "s");
    }
    Add("checkpoint.interval_seconds", {"given", in.interval->value()}, "s");
  }

  void AddEstimate(const TimeEstimate& estimate) {
    if (estimate.kind == EstimateKind::kPredicted) AddStepTime(*plan_.step);
    Begin(absl::StrCat("estimates.", EstimateKindName(estimate.kind), "."), kPlanPage);
    if (estimate.kind == EstimateKind::kPredicted) {
      AddPredicted(estimate);
    } else if (estimate.kind == EstimateKind::kMeasuredBound) {
      AddAtMeasuredRate(estimate);
    } else {
      AddAtPeak(estimate);
    }
    AddCost(estimate);
  }

  void AddAtPeak(const TimeEstimate& at) {
    const bool is_bound = at.kind == EstimateKind::kLowerBound && plan_.flops.hardware.has_value();
    Add("mfu", is_bound ? 1 / HardwareRatio() : Term("given", *at.mfu), "ratio",
        SourceOf(at.mfu_basis));
    Add("duration_seconds.expected",
        formula::Duration(UsedFlops(), Devices(), RateOf("peak_flops_per_second"),
                          Term("mfu", *at.mfu)),
        "s", "Chowdhery et al. 2022 (arXiv 2204.02311) appendix B");
  }

  // Recomputation runs at this rate, too.
  void AddAtMeasuredRate(const TimeEstimate& at) {
    const bool recomputes = plan_.flops.hardware.has_value();
    const Term rate = RateOf("matmul_flops_per_second");
    if (at.mfu.has_value()) {
      const Term mfu = rate / RateOf("peak_flops_per_second");
      Add("mfu", (recomputes ? mfu / HardwareRatio() : mfu).Is(*at.mfu), "ratio",
          SourceOf(at.mfu_basis));
    }
    const Term computed = recomputes ? UsedFlops() * HardwareRatio() : UsedFlops();
    Add("duration_seconds.expected", (computed / (Devices() * rate)).Is(at.duration), "s");
  }

  void AddStepTime(const StepPlan& step) {
    Begin("step_time.", "docs/step_time.md");
    TermSum all("sum of the parts' seconds");
    for (size_t i = 0; i < kStepCauseCount; ++i) {
      const double seconds = step.estimate.parts[i];
      if (seconds <= 0) continue;
      Add(absl::StrCat("parts.", StepCauseName(static_cast<StepCause>(i)), ".seconds"),
          {"given", seconds}, "s");
      all.Add(seconds);
    }
    Add("seconds.expected", all.sum().Is(step.estimate.seconds.expected), "s");
  }

  void AddPredicted(const TimeEstimate& at) {
    TermSum all(
        "step_time.seconds x token_count / step_time.token_count, of each phase of the batch");
    for (const PhaseSteps& phase : whole_.steps->phases) {
      all.Add(phase.step.value() * Term("", phase.token_count) / Term("", phase.step_tokens));
    }
    Add("duration_seconds.expected", all.sum().Is(at.duration), "s");
    if (!at.mfu.has_value()) return;
    const Term most = Devices() * RateOf("peak_flops_per_second");
    Add("mfu", (UsedFlops() / (most * Term("duration_seconds", at.duration.value()))).Is(*at.mfu),
        "ratio", SourceOf(at.mfu_basis));
  }

  // The steps that follow from the duration; of a predicted run, from that of its mean rate, which
  // may be another double.
  void AddCost(const TimeEstimate& at) {
    const Term duration("duration_seconds", at.duration.value());
    const Term elapsed("elapsed_seconds", at.elapsed.value());
    if (at.hfu.has_value()) {
      Add("hfu", formula::Hfu(Term("mfu", *at.mfu), HardwareRatio()), "ratio",
          "docs/transformer.md");
    }
    if (at.measured_fraction.has_value()) {
      const Term most = Devices() * RateOf("matmul_flops_per_second") * duration;
      Add("measured_fraction", (UsedFlops() / most).Is(*at.measured_fraction), "ratio",
          kByDefinition);
    }
    const Term per_second("elapsed_per_second", whole_.elapsed.all());
    Add("elapsed_seconds.expected", formula::Elapsed(duration, per_second), "s");
    Add("device_hours", formula::DeviceHours(Devices(), elapsed).Is(at.device_hours), "device hour",
        kByDefinition);
    Add("tokens_per_second", formula::TokensPerSecond(Tokens(), duration).Is(at.tokens_per_second),
        "token/s", kByDefinition);
    AddMoney(at, elapsed);
  }

  void AddMoney(const TimeEstimate& at, const Term& elapsed) {
    const EconomicsSpec& economics = run_.economics;
    if (at.cost.has_value()) {
      const Term price("device_hour_price_usd", *economics.device_hour_price_usd);
      Add("cost_usd", formula::Cost(Term("device_hours", at.device_hours), price), "USD");
    }
    if (at.energy.has_value()) {
      const Term host("host_power_watts_per_device",
                      economics.host_power_watts_per_device.value_or(0));
      const Term usage("power_usage_effectiveness",
                       economics.power_usage_effectiveness.value_or(1));
      Add("energy_joules",
          formula::Energy(Devices(), RateOf("device_power_watts") + host, elapsed, usage)
              .Is(*at.energy),
          "J");
    }
    if (at.deadline.has_value()) {
      const Term limit("deadline - start_time", *economics.seconds_to_deadline);
      AddLimit("deadline", formula::Margin(limit, elapsed), *at.deadline, "s");
    }
    if (at.budget.has_value()) {
      const Term limit("budget_usd", *economics.budget_usd);
      AddLimit("budget", formula::Margin(limit, Term("cost_usd", at.cost->value())), *at.budget,
               "USD");
    }
  }

  void AddLimit(absl::string_view name, const Term& margin, const LimitCheck& check,
                absl::string_view unit) {
    Add(absl::StrCat(name, ".margin"), margin, unit, kByDefinition);
    AddGiven(absl::StrCat(name, ".chance"), check.chance, "ratio", "docs/memory.md");
  }

  void AddSteps() {
    Begin("whole_run.", kPlanPage);
    if (!whole_.steps.has_value()) return;
    TermSum all("ceil(tokens / (global_batch_size x sequence_length)), of each phase");
    for (const PhaseSteps& phase : whole_.steps->phases) {
      all.Add(ceil(Term("", phase.token_count) / Term("", phase.step_tokens)));
    }
    Add("step_count", all.sum().Is(whole_.steps->count), "step");
  }

  void AddData(const DataLoading& data) {
    const Term id("bytes_per_token_id", data.bytes_per_token_id);
    Add("data_loading.bytes_per_token_id", {"given", static_cast<double>(data.bytes_per_token_id)},
        "byte");
    Add("data_loading.token_file_bytes", (Tokens() * id).Is(data.token_file), "byte");
    if (data.device_step.has_value()) {
      const Term tokens("tokens of a step on a device", data.device_step->value() / 8);
      Add("data_loading.device_step_bytes", (tokens * 8).Is(*data.device_step), "byte");
    }
    AddGiven("data_loading.device_copy_seconds", data.device_copy, "s");
    if (!data.read_rate.has_value()) return;
    const Term tokens("tokens_per_second", BasisOf(plan_)->tokens_per_second);
    Add("data_loading.read_bytes_per_second", tokens * id, "byte/s");
  }

  void AddByTime(const TimeEstimate& basis) {
    const Term duration("duration_seconds", basis.duration.value());
    const Term elapsed("elapsed_seconds", basis.elapsed.value());
    const Interruptions& in = whole_.interruptions;
    if (whole_.failure_count.has_value()) {
      const Term between("mean_time_between_failures_seconds", in.between_failures->value());
      Add("expected_failure_count", formula::FailureCount(elapsed, between), "failure");
    }
    if (whole_.checkpoint.count.has_value()) {
      const Term interval("interval_seconds", in.interval->value());
      Add("checkpoint.count",
          formula::CheckpointCount(duration, Stalls(), interval).Is(*whole_.checkpoint.count),
          "checkpoint");
    }
    AddGiven("recommended_time_limit_seconds", whole_.time_limit, "s");
    if (!whole_.slowest.has_value()) return;
    const SlowestCost& slowest = *whole_.slowest;
    const Term share("saved_share", slowest.device.saved_share);
    Add("slowest_device.saved_share", share.As("given"), "ratio");
    Add("slowest_device.saved_seconds", elapsed * share, "s");
    if (!slowest.saved_cost.has_value()) return;
    Add("slowest_device.saved_cost_usd", Term("cost_usd", basis.cost->value()) * share, "USD");
  }

  void AddTelemetry(const TimeEstimate* basis) {
    Begin("whole_run.telemetry.", kPlanPage);
    Add("model_flops_per_token", {"given", plan_.flops.used().per_token.value()}, "FLOP/token");
    AddGiven("peak_flops_per_second", plan_.peak, "FLOP/s");
    if (basis == nullptr) return;
    AddGiven("planned_mfu", basis->mfu, "ratio");
    Add("planned_tokens_per_second", {"given", basis->tokens_per_second}, "token/s");
  }

  const RunSpec& run_;
  const Plan& plan_;
  const WholeRun& whole_;
};

}  // namespace

const TimeEstimate* Plan::estimate(EstimateKind kind) const {
  for (const TimeEstimate& estimate : estimates) {
    if (estimate.kind == kind) return &estimate;
  }
  return nullptr;
}

Verdict Plan::verdict() const {
  if (memory_estimate.has_value()) return memory_estimate->verdict;
  if (!fit.fits()) return Verdict::kDoesNotFit;
  return activations.has_value() ? Verdict::kFits : Verdict::kStateFits;
}

const TimeEstimate* BasisOf(const Plan& plan) {
  for (const EstimateKind kind :
       {EstimateKind::kPredicted, EstimateKind::kTextbook, EstimateKind::kMeasuredBound}) {
    if (const TimeEstimate* const found = plan.estimate(kind)) return found;
  }
  return nullptr;
}

const WeightTensors& Plan::tensors() const {
  static const WeightTensors& none = *new WeightTensors;
  return model != nullptr ? model->tensors() : none;
}

std::vector<DerivationStep> DerivationOf(const RunSpec& run, const Plan& plan) {
  return TimeDerivation(run, plan).Take();
}

}  // namespace sextant
