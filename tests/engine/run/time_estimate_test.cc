// Times of a run by its FLOPs, the predictor of its steps, and derivations, whose steps evaluate to
// their values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/strip.h"
#include "engine/run/plan.h"
#include "engine/run/planned_run.h"
#include "engine/run/step_predictor.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/measured_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

// 3.6e18 FLOP on 2 devices of 1e15 FLOP/s at MFU 0.5: one hour.
TimeInput OneHour() {
  return {.mfu_basis = MfuBasis::kRequest,
          .flops = Flops(3.6e18),
          .rate = FlopsPerSecond(1e15),
          .utilisation = 0.5,
          .peak = FlopsPerSecond(1e15),
          .device_count = 2,
          .token_count = 7200,
          .device_hour_price_usd = {},
          .device_power = {},
          .host_power_per_device = Watts(0),
          .power_usage_effectiveness = 1};
}

// 8e15 FLOP on 4 devices of 1e15 FLOP/s: 2 s at full peak, 5 s at MFU 0.4.
TEST(TimeEstimate, DurationIsFlopsOverTheRateReached) {
  TimeInput input = OneHour();
  input.flops = Flops(8e15);
  input.device_count = 4;
  input.utilisation = 1;
  EXPECT_DOUBLE_EQ(TimeEstimateOf(input).duration.value(), 2);
  input.utilisation = 0.4;
  EXPECT_DOUBLE_EQ(TimeEstimateOf(input).duration.value(), 5);
}

TEST(TimeEstimate, OfAnHourOnTwoDevices) {
  const TimeEstimate cost = TimeEstimateOf(OneHour());
  EXPECT_DOUBLE_EQ(cost.duration.value(), 3600);
  EXPECT_DOUBLE_EQ(cost.device_hours, 2);
  EXPECT_DOUBLE_EQ(cost.tokens_per_second, 2);
  EXPECT_EQ(cost.mfu, 0.5);
  EXPECT_EQ(cost.mfu_basis, MfuBasis::kRequest);
  EXPECT_FALSE(cost.measured_fraction.has_value());
  EXPECT_FALSE(cost.cost.has_value());
  EXPECT_FALSE(cost.energy.has_value());
}

// The same 0.5e15 FLOP/s reached, as a share of a peak of 1e15 and of a measured 0.8e15.
TEST(TimeEstimate, SharesArePartsOfTheirOwnWhole) {
  TimeInput input = OneHour();
  input.measured = FlopsPerSecond(0.8e15);
  EXPECT_DOUBLE_EQ(*TimeEstimateOf(input).mfu, 0.5);
  EXPECT_DOUBLE_EQ(*TimeEstimateOf(input).measured_fraction, 0.625);
  input.peak = {};
  EXPECT_FALSE(TimeEstimateOf(input).mfu.has_value());
}

// At the whole measured rate: 3.6e18 / (2 x 0.8e15) = 2250 s.
TEST(TimeEstimate, AtTheMeasuredRate) {
  TimeInput input = OneHour();
  input.rate = FlopsPerSecond(0.8e15);
  input.measured = input.rate;
  input.utilisation = 1;
  const TimeEstimate cost = TimeEstimateOf(input);
  EXPECT_DOUBLE_EQ(cost.duration.value(), 2250);
  EXPECT_EQ(*cost.measured_fraction, 1);
  EXPECT_DOUBLE_EQ(*cost.mfu, 0.8);
}

TEST(TimeEstimate, PricesDeviceHours) {
  TimeInput input = OneHour();
  input.device_hour_price_usd = 2.5;
  EXPECT_DOUBLE_EQ(TimeEstimateOf(input).cost->value(), 5);
  input.device_hour_price_usd = 0;  // free, not unknown
  EXPECT_DOUBLE_EQ(TimeEstimateOf(input).cost->value(), 0);
}

// 2 x (700 + 100) W x 3600 s x 1.25
TEST(TimeEstimate, AddsHostsAndFacilityToTheEnergy) {
  TimeInput input = OneHour();
  input.device_power = Watts(700);
  input.host_power_per_device = Watts(100);
  input.power_usage_effectiveness = 1.25;
  EXPECT_DOUBLE_EQ(TimeEstimateOf(input).energy->value(), 7.2e6);
}

// Whoever waits no longer is asked before each device's models are fitted; a product's are known.
TEST(StepPredictor, EndsBetweenMeasuredDevices) {
  RunSpec run = SuppliedRun(MeasuredH100("GPU-1"));
  run.cluster.device.calibrations.push_back(ModelOf(MeasuredH100("GPU-2")));
  run.cluster.device_count = 2;
  run.model.parameter_count.reset();
  run.model.preset = "llama-3.1-8b";
  run.training.sequence_length = 4096;
  run.layout = RunLayout{};
  run.layout->global_batch_size = 2;
  int asked = 0;
  const auto stop = [&asked] {
    return ++asked < 2 ? absl::OkStatus() : absl::CancelledError("gone");
  };
  const auto code_of = [&] {
    const auto resolved = Resolve(run, {});
    EXPECT_THAT(resolved, IsOk());
    CallWork work(stop);
    return StepPredictor::Of(run, *resolved, work).status().code();
  };
  EXPECT_EQ(code_of(), absl::StatusCode::kCancelled);
  EXPECT_EQ(asked, 2);
  run.cluster.device = {};
  run.cluster.device.accelerator = "h100-sxm";
  EXPECT_EQ(code_of(), absl::StatusCode::kOk);
  EXPECT_EQ(asked, 2);
}

// Evaluates the figures of a step, by the grammar of arithmetic and in the compiler's widest
// numbers, so that its own rounding shows in no digit of a double.
class Evaluation {
 public:
  explicit Evaluation(absl::string_view text) : text_(text) {}

  long double Value() {
    const long double value = Sum();
    EXPECT_TRUE(text_.empty()) << "left: " << text_;
    return value;
  }

 private:
  bool Take(absl::string_view prefix) { return absl::ConsumePrefix(&text_, prefix); }

  long double Sum() {
    long double value = Product();
    while (true) {
      if (Take(" + ")) {
        value += Product();
      } else if (Take(" - ")) {
        value -= Product();
      } else {
        return value;
      }
    }
  }

  long double Product() {
    long double value = Factor();
    while (true) {
      if (Take(" * ")) {
        value *= Factor();
      } else if (Take(" / ")) {
        value /= Factor();
      } else {
        return value;
      }
    }
  }

  long double Factor() {
    if (Take("sqrt(")) return std::sqrt(Closed());
    if (Take("expm1(")) return std::expm1(Closed());
    if (Take("exp(")) return std::exp(Closed());
    if (Take("floor(")) return std::floor(Closed());
    if (Take("ceil(")) return std::ceil(Closed());
    if (Take("(")) return Closed();
    size_t end = std::min(text_.find_first_of(" )"), text_.size());
    const std::string number(text_.substr(0, end));
    text_.remove_prefix(end);
    char* rest = nullptr;
    const long double value = std::strtold(number.c_str(), &rest);
    EXPECT_TRUE(!number.empty() && *rest == '\0') << "'" << number << "' should be a number";
    return value;
  }

  long double Closed() {
    const long double value = Sum();
    EXPECT_TRUE(Take(")")) << "unclosed: " << text_;
    return value;
  }

  absl::string_view text_;
};

long double Evaluated(const std::string& figures) { return Evaluation(figures).Value(); }

// The steps of `run` by symbol. Each evaluates to its value: but for the last two bits, which a
// chain of roundings costs, and for what is left where nearly equal numbers are subtracted.
std::map<std::string, DerivationStep> CheckedSteps(RunSpec run) {
  run.options.include_derivation = run.options.full = true;
  const Plan plan = Planned(run);
  std::map<std::string, DerivationStep> out;
  for (const DerivationStep& step : plan.derivation) {
    EXPECT_FALSE(step.formula.empty() || step.unit.empty() || step.source.empty()) << step.symbol;
    const double figure = static_cast<double>(Evaluated(step.substitution));
    const double error = step.symbol == "whole_run.elapsed_per_second.failures" ? 1e-12 : 1e-15;
    EXPECT_NEAR(step.value, figure, error * std::abs(figure)) << step.symbol;
    EXPECT_TRUE(out.emplace(step.symbol, step).second) << step.symbol << " twice";
  }
  return out;
}

TEST(Evaluation, IsThatOfArithmetic) {
  EXPECT_EQ(Evaluated("2 + 3 * 4 - 6 / (1 + 2)"), 12);
  EXPECT_EQ(Evaluated("ceil(7 / 2) - floor(7 / 2) - sqrt(16)"), -3);
  EXPECT_EQ(Evaluated("1e+3"), 1000);
}

// Everything that a plan without a layout derives.
TEST(Derivation, OfARunWithLimitsAndFailuresEvaluates) {
  RunSpec run = OnH100s(1024, 15'000'000'000'000);
  run.model.preset = "llama-3.1-70b";
  run.training.sequence_length = 8192;
  run.economics = {.device_hour_price_usd = 2.5,
                   .host_power_watts_per_device = 300,
                   .power_usage_effectiveness = 1.3,
                   .budget_usd = 1e6,
                   .seconds_to_deadline = 1e7};
  run.interruptions = {.failures_per_device_hour = 1.3e-5,
                       .restart_seconds = 600,
                       .checkpoint_write_bytes_per_second = 7e9,
                       .checkpoint_stall_ratio = 0.3,
                       .stall_ratio = 0.02};
  const auto steps = CheckedSteps(run);
  for (const char* symbol :
       {"memory.peak_bytes.expected", "memory.state.largest_parameter_count",
        "flops.counts.exact_causal_diagonal.flops_per_token", "flops.hardware_flops_ratio",
        "whole_run.checkpoint.daly_interval_seconds", "whole_run.elapsed_per_second.failures",
        "whole_run.checkpoint.count", "estimates.textbook.energy_joules",
        "estimates.textbook.deadline.margin", "estimates.textbook.budget.margin"}) {
    EXPECT_TRUE(steps.contains(symbol)) << symbol;
  }
}

TEST(Derivation, OfAPredictedRunEvaluates) {
  RunSpec run = RunOnH100s("llama-3-70b", 64, 128, 8192);
  run.layout->parallel.tensor_parallel_size = 8;
  run.layout->parallel.pipeline_parallel_size = 4;
  run.layout->zero_stage = ZeroStage::kOptimizer;
  run.layout->batch_ramp = {{.token_count = int64_t{1} << 37, .global_batch_size = 64}};
  run.economics.device_hour_price_usd = 2;
  const auto steps = CheckedSteps(run);
  for (const char* symbol :
       {"step_time.seconds.expected", "estimates.predicted.duration_seconds.expected",
        "estimates.predicted.hfu", "whole_run.step_count",
        "whole_run.data_loading.read_bytes_per_second"}) {
    EXPECT_TRUE(steps.contains(symbol)) << symbol;
  }
}

TEST(Derivation, OfAMeasuredDeviceEvaluates) {
  RunSpec run = SuppliedRun(MeasuredH100("GPU-1"));
  EXPECT_TRUE(CheckedSteps(run).contains("estimates.measured_bound.mfu"));
  run.model = {.preset = "llama-3.1-8b"};
  run.training.sequence_length = 4096;
  run.training.recompute = RecomputePolicy::kFull;
  run.cluster.device_count = 64;
  EXPECT_TRUE(CheckedSteps(run).contains("estimates.measured_bound.measured_fraction"));
}

// The text encloses a sum in a product, and what is divided by, and nothing else.
TEST(Term, HasTheFormulaThatItEvaluates) {
  const Term a("a", 2.0);
  const Term b("b", int64_t{3});
  EXPECT_EQ((a * (b + a) / (b * a) - (a - b)).formula(), "a x (b + a) / (b x a) - (a - b)");
  EXPECT_EQ((a * (b + a) / (b * a) - (a - b)).figures(), "2 * (3 + 2) / (3 * 2) - (2 - 3)");
  EXPECT_DOUBLE_EQ((a * (b + a) / (b * a) - (a - b)).value(), 10.0 / 6 + 1);
  EXPECT_EQ((a * (b * a)).figures(), "2 * 3 * 2");
  EXPECT_EQ((a + (b + a)).figures(), "2 + 3 + 2");
  EXPECT_EQ(sqrt(1 + a).formula(), "sqrt(1 + a)");
  EXPECT_EQ((b / (2 * a).As("2a")).formula(), "b / 2a");
  EXPECT_EQ((b / (2 * a).As("2a")).figures(), "3 / (2 * 2)");
  EXPECT_EQ((a + b).Is(7.0).value(), 7);
}

// 6e20 FLOPs on 8 devices of 1e15 FLOP/s, at 0.4 of that.
TEST(Formula, IsTheSameOfNumbersAndOfTerms) {
  const Term shown = formula::Duration(Term("flops", 6e20), Term("device_count", int64_t{8}),
                                       Term("peak", 1e15), Term("mfu", 0.4));
  EXPECT_EQ(shown.formula(), "flops / (device_count x peak x mfu)");
  EXPECT_EQ(shown.figures(), "6e+20 / (8 * 1e+15 * 0.4)");
  EXPECT_EQ(shown.value(), 187500);
  EXPECT_EQ(formula::Duration(6e20, 8, 1e15, 0.4), 187500);
}

}  // namespace
}  // namespace sextant
