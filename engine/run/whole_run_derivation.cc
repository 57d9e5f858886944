
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "engine/run/model_derivation.h"

namespace sextant {
namespace {

constexpr absl::string_view kPage = "docs/plan.md";

class WholeRunSteps {
 public:
  WholeRunSteps(const Plan& plan, std::vector<DerivationStep>& steps)
      : plan_(plan), whole_(plan.whole_run), steps_(steps) {}

  void AppendCheckpoint(const RunSpec& run) {
    const CheckpointPlan& checkpoint = whole_.checkpoint;
    std::string sum;
    for (const CheckpointTerm& term : checkpoint.terms) {
      Given(absl::StrCat("checkpoint.terms.", term.name, ".size_bytes"), Of(term.size), "byte");
      AppendTerm(sum, term.size.value());
    }
    if (sum.empty()) sum = "0";
    Add("checkpoint.size_bytes", "sum of the terms' size_bytes", sum, Of(checkpoint.size), "byte");
    Given("checkpoint.resume_read_bytes", Of(checkpoint.resume_read), "byte");
    Given("checkpoint.resume_read_bytes_per_device", Of(checkpoint.resume_read_per_device), "byte");
    const auto add = [this](absl::string_view symbol, absl::string_view formula, Bytes size,
                            const absl::optional<Seconds>& time, double rate) {
      if (!time.has_value()) return;
      Add(symbol, formula, absl::StrCat(Number(size), " / ", Number(rate)), time->value(), "s");
    };
    const absl::optional<double> write = CheckpointWriteRate(run);
    add("checkpoint.write_seconds", "size_bytes / the slower of the rates given", checkpoint.size,
        checkpoint.write, write.value_or(0));
    add("checkpoint.resume_read_seconds",
        "resume_read_bytes / checkpoint_read_bytes_per_second, else the rate of writes",
        checkpoint.resume_read, checkpoint.resume,
        run.interruptions.checkpoint_read_bytes_per_second.value_or(write.value_or(0)));
  }

  void AppendIntervals(const RunSpec& run) {
    const Interruptions& in = whole_.interruptions;
    if (!in.interval.has_value()) return;
    Add("checkpoint.stall_seconds", "write_seconds x checkpoint_stall_ratio",
        absl::StrCat(Number(in.write.value()), " * ",
                     Number(run.interruptions.checkpoint_stall_ratio.value_or(1))),
        in.stall.value(), "s");
    if (in.between_failures.has_value()) {
      const std::string m = Number(in.between_failures->value());
      const std::string c = Number(in.stall.value());
      Add("mean_time_between_failures_seconds", "3600 / (failures_per_device_hour x device_count)",
          absl::StrCat("3600 / (", Number(*run.interruptions.failures_per_device_hour), " * ",
                       plan_.device_count, ")"),
          in.between_failures->value(), "s");
      Add("checkpoint.young_interval_seconds", "sqrt(2 x C x M)",
          absl::Substitute("sqrt(2 * $0 * $1)", c, m), whole_.checkpoint.young_interval->value(),
          "s");
      Add("checkpoint.daly_interval_seconds",
          "sqrt(2 x C x M) x (1 + sqrt(C / 2M) / 3 + C / 2M / 9) - C",
          absl::Substitute("sqrt(2 * $0 * $1) * (1 + sqrt($0 / (2 * $1)) / 3 + $0 / (2 * $1) / 9) "
                           "- $0",
                           c, m),
          whole_.checkpoint.daly_interval->value(), "s");
    }
    Given("checkpoint.interval_seconds", in.interval->value(), "s");
  }

  void AppendElapsed() {
    const Interruptions& in = whole_.interruptions;
    const ElapsedShares& elapsed = whole_.elapsed;
    Given("stall_ratio", elapsed.stalls, "ratio");
    const std::string work = absl::StrCat("(1 + ", Number(elapsed.stalls), ")");
    if (in.interval.has_value()) {
      const std::string interval = Number(in.interval->value());
      const std::string stall = Number(in.stall.value());
      Add("elapsed_per_second.checkpoints", "(1 + stall_ratio) x C / t",
          absl::Substitute("$0 * $1 / $2", work, stall, interval), elapsed.checkpoints, "ratio");
      if (in.between_failures.has_value()) {
        Add("elapsed_per_second.failures",
            "(1 + stall_ratio) x (M x exp(r / M) x expm1((t + C) / M) / t - 1 - C / t)",
            absl::Substitute("$0 * ($1 * exp($2 / $1) * expm1(($3 + $4) / $1) / $3 - 1 - $4 / $3)",
                             work, Number(in.between_failures->value()),
                             Number((in.restart + in.write - in.stall).value()), interval, stall),
            elapsed.failures, "ratio");
      }
    }
    AppendShares();
  }

  void AppendSteps() {
    if (!whole_.steps.has_value()) return;
    std::string sum;
    for (const PhaseSteps& phase : whole_.steps->phases) {
      absl::StrAppend(&sum, sum.empty() ? "" : " + ", "ceil(", phase.token_count, " / ",
                      phase.step_tokens, ")");
    }
    Add("step_count", "ceil(tokens / (global_batch_size x sequence_length)), of each phase",
        std::move(sum), static_cast<double>(whole_.steps->count), "step");
  }

  void AppendData() {
    if (!whole_.data.has_value()) return;
    const DataLoading& data = *whole_.data;
    const auto id = static_cast<double>(data.bytes_per_token_id);
    Given("data_loading.bytes_per_token_id", id, "byte");
    Add("data_loading.token_file_bytes", "token_count x bytes_per_token_id",
        absl::StrCat(plan_.token_count, " * ", data.bytes_per_token_id), Of(data.token_file),
        "byte");
    if (data.device_step.has_value()) {
      Add("data_loading.device_step_bytes", "tokens of a step on a device x 8",
          absl::StrCat(data.device_step->value() / 8, " * 8"), Of(*data.device_step), "byte");
    }
    if (data.device_copy.has_value()) {
      Given("data_loading.device_copy_seconds", data.device_copy->value(), "s");
    }
    if (!data.read_rate.has_value()) return;
    Add("data_loading.read_bytes_per_second", "tokens_per_second x bytes_per_token_id",
        absl::StrCat(Number(BasisOf(plan_)->tokens_per_second), " * ", data.bytes_per_token_id),
        data.read_rate->value(), "byte/s");
  }

  void AppendByTime() {
    const TimeEstimate* const basis = BasisOf(plan_);
    if (basis == nullptr) return;
    const std::string elapsed = Number(basis->elapsed.value());
    if (whole_.failure_count.has_value()) {
      Add("expected_failure_count", "elapsed_seconds / mean_time_between_failures_seconds",
          absl::StrCat(elapsed, " / ", Number(whole_.interruptions.between_failures->value())),
          *whole_.failure_count, "failure");
    }
    if (whole_.checkpoint.count.has_value()) {
      Add("checkpoint.count", "floor(duration_seconds x (1 + stall_ratio) / interval_seconds)",
          absl::StrCat("floor(", Number(basis->duration.value()), " * (1 + ",
                       Number(whole_.elapsed.stalls), ") / ",
                       Number(whole_.interruptions.interval->value()), ")"),
          static_cast<double>(*whole_.checkpoint.count), "checkpoint");
    }
    if (whole_.time_limit.has_value()) {
      Given("recommended_time_limit_seconds", whole_.time_limit->value(), "s");
    }
    if (!whole_.slowest.has_value()) return;
    const SlowestCost& slowest = *whole_.slowest;
    const std::string share = Number(slowest.device.saved_share);
    Given("slowest_device.saved_share", slowest.device.saved_share, "ratio");
    Add("slowest_device.saved_seconds", "elapsed_seconds x saved_share",
        absl::StrCat(elapsed, " * ", share), slowest.saved.value(), "s");
    if (!slowest.saved_cost.has_value()) return;
    Add("slowest_device.saved_cost_usd", "cost_usd x saved_share",
        absl::StrCat(Number(basis->cost->value()), " * ", share), slowest.saved_cost->value(),
        "USD");
  }

  void AppendTelemetry() {
    Given("telemetry.model_flops_per_token", plan_.flops.used().per_token.value(), "FLOP/token");
    if (plan_.peak.has_value()) {
      Given("telemetry.peak_flops_per_second", plan_.peak->value(), "FLOP/s");
    }
    const TimeEstimate* const basis = BasisOf(plan_);
    if (basis == nullptr) return;
    if (basis->mfu.has_value()) Given("telemetry.planned_mfu", *basis->mfu, "ratio");
    Given("telemetry.planned_tokens_per_second", basis->tokens_per_second, "token/s");
  }

 private:
  void AppendShares() {
    const ElapsedShares& elapsed = whole_.elapsed;
    const std::string sum =
        absl::StrCat("1 + ", Number(elapsed.stalls), " + ", Number(elapsed.checkpoints), " + ",
                     Number(elapsed.failures));
    Add("elapsed_per_second", "steps + stalls + checkpoints + failures", sum, elapsed.all(),
        "ratio");
    const std::string all = Number(elapsed.all());
    const auto share = [&](absl::string_view symbol, double part) {
      Add(symbol, "its part of elapsed_per_second", absl::StrCat(Number(part), " / ", all),
          part / elapsed.all(), "ratio");
    };
    share("goodput_ratio", 1);
    share("stall_share", elapsed.stalls);
    share("checkpoint_share", elapsed.checkpoints);
    share("failure_share", elapsed.failures);
  }

  static double Of(Bytes bytes) { return static_cast<double>(bytes.value()); }

  void Add(absl::string_view symbol, absl::string_view formula, std::string numbers, double value,
           absl::string_view unit) {
    steps_.push_back({absl::StrCat("whole_run.", symbol), formula, std::move(numbers), value, unit,
                      std::string(kPage)});
  }
  void Given(absl::string_view symbol, double value, absl::string_view unit) {
    Add(symbol, "given", Number(value), value, unit);
  }

  const Plan& plan_;
  const WholeRun& whole_;
  std::vector<DerivationStep>& steps_;
};

}  // namespace

void AppendElapsedSteps(const RunSpec& run, const Plan& plan, std::vector<DerivationStep>& steps) {
  WholeRunSteps out(plan, steps);
  out.AppendCheckpoint(run);
  out.AppendIntervals(run);
  out.AppendElapsed();
}

void AppendWholeRunSteps(const Plan& plan, std::vector<DerivationStep>& steps) {
  WholeRunSteps out(plan, steps);
  out.AppendSteps();
  out.AppendData();
  out.AppendByTime();
  out.AppendTelemetry();
}

}  // namespace sextant
