#include "engine/search/allocate_compute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/engine/run/measured_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr double kWeek = 7 * 86400;

AllocationSpec OfFlops(double flops) { return {.flops = flops}; }

// 8 H100s for a week at half of their datasheet's peak.
AllocationSpec OfH100s() {
  AllocationSpec out = {.devices_given = true, .duration_seconds = kWeek};
  out.run.cluster.device.accelerator = "h100-sxm";
  out.run.cluster.device_count = 8;
  out.run.options.assumed_mfu = 0.5;
  return out;
}

AllocationSpec OfMeasured(const DeviceCalibration& calibration, int64_t device_count) {
  AllocationSpec out = {.devices_given = true, .duration_seconds = 1000};
  out.run.cluster = SuppliedRun(calibration).cluster;
  out.run.cluster.device_count = device_count;
  return out;
}

ComputeAllocation Answer(const AllocationSpec& spec) {
  auto answer = AllocateCompute(spec, {});
  EXPECT_THAT(answer, IsOk());
  return answer.value_or(ComputeAllocation());
}

const RuleAllocation& By(ScalingRule rule, const ComputeAllocation& answer) {
  for (const RuleAllocation& out : answer.rules) {
    if (out.rule->rule == rule) return out;
  }
  ADD_FAILURE() << "no such rule";
  return answer.rules.front();
}

// 8 x 604,800 s x 989.5e12 FLOP/s x 0.5
TEST(AllocateCompute, CountsTheFlopsOfDevices) {
  AllocationSpec spec = OfH100s();
  spec.run.cluster.peak_flops_per_second = 989.5e12;
  const ComputeAllocation answer = Answer(spec);
  EXPECT_DOUBLE_EQ(answer.budget.value(), 2.3937984e21);
  ASSERT_TRUE(answer.devices.has_value());
  EXPECT_EQ(answer.devices->device, "h100-sxm");
  EXPECT_EQ(answer.devices->basis, EstimateKind::kTextbook);
  EXPECT_EQ(answer.devices->mfu_basis, MfuBasis::kRequest);
  EXPECT_EQ(answer.devices->mfu, 0.5);
  EXPECT_DOUBLE_EQ(answer.devices->device_hours(), 8 * 168);
  EXPECT_FALSE(answer.devices->cost.has_value());
  ASSERT_THAT(answer.rates, SizeIs(1));
  EXPECT_EQ(answer.rates[0].quantity, "peak_flops_per_second");
  EXPECT_EQ(answer.rates[0].source, RateSource::kRequest);
  EXPECT_THAT(KindsOf(answer.notes), Not(Contains(NoteKind::kMfuAssumed)));
}

TEST(AllocateCompute, AssumesAnMfuAndSaysSo) {
  AllocationSpec spec = OfH100s();
  spec.run.options.assumed_mfu.reset();
  const ComputeAllocation answer = Answer(spec);
  EXPECT_DOUBLE_EQ(answer.budget.value(), 8 * kWeek * answer.devices->rate.value() * 0.4);
  EXPECT_EQ(answer.devices->mfu_basis, MfuBasis::kAssumed);
  EXPECT_EQ(answer.rates[0].source, RateSource::kDatasheet);
  EXPECT_THAT(KindsOf(answer.notes), Contains(NoteKind::kMfuAssumed));
  EXPECT_THAT(TextsOf(answer.notes), Contains(HasSubstr("Give assumed_mfu for another")));
}

// Memory and power have no say, nor have notes about them.
TEST(AllocateCompute, SpeaksOfRatesAlone) {
  const ComputeAllocation answer = Answer(OfH100s());
  for (const Note& note : answer.notes) EXPECT_EQ(SubjectOf(note.kind), NoteSubject::kTime);
  EXPECT_THAT(answer.rates, SizeIs(1));
}

// Until the deadline, and for as long as money lasts: 4 x 168 h x 8 devices x 2 USD.
TEST(AllocateCompute, TakesADeadlineOrMoneyForTheTime) {
  const double week = Answer(OfH100s()).budget.value();
  AllocationSpec deadline = OfH100s();
  deadline.duration_seconds.reset();
  deadline.run.economics.seconds_to_deadline = 4 * kWeek;
  EXPECT_DOUBLE_EQ(Answer(deadline).budget.value(), 4 * week);
  AllocationSpec money = OfH100s();
  money.duration_seconds.reset();
  money.run.economics.device_hour_price_usd = 2;
  money.run.economics.budget_usd = 4 * 168 * 8 * 2;
  const ComputeAllocation answer = Answer(money);
  EXPECT_DOUBLE_EQ(answer.budget.value(), 4 * week);
  EXPECT_DOUBLE_EQ(answer.devices->duration.value(), 4 * kWeek);
  EXPECT_DOUBLE_EQ(answer.devices->cost->value(), 4 * 168 * 8 * 2);
}

TEST(AllocateCompute, SaysWhatATimeCosts) {
  AllocationSpec spec = OfH100s();
  spec.run.economics.device_hour_price_usd = 2.5;
  EXPECT_DOUBLE_EQ(Answer(spec).devices->cost->value(), 8 * 168 * 2.5);
}

// 4 x 1000 s x 2e12 FLOP/s, of one measured processor and three like it.
TEST(AllocateCompute, TakesTheMeasuredRateOfMeasuredDevices) {
  const AllocationSpec spec = OfMeasured(Processor("CPU-1"), 4);
  const ComputeAllocation answer = Answer(spec);
  EXPECT_DOUBLE_EQ(answer.budget.value(), 8e15);
  EXPECT_EQ(answer.devices->basis, EstimateKind::kMeasuredBound);
  EXPECT_FALSE(answer.devices->mfu.has_value());
  ASSERT_THAT(answer.rates, SizeIs(1));
  EXPECT_EQ(answer.rates[0].quantity, "matmul_flops_per_second");
  EXPECT_EQ(answer.rates[0].source, RateSource::kMeasuredSupplied);
  EXPECT_THAT(KindsOf(answer.notes), Contains(NoteKind::kDevicesNotMeasured));
  EXPECT_THAT(KindsOf(answer.notes), Not(Contains(NoteKind::kPeakUnknown)));
}

TEST(AllocateCompute, TakesAnMfuOfTheDatasheetOfMeasuredDevices) {
  AllocationSpec spec = OfMeasured(MeasuredH100("GPU-1"), 1);
  EXPECT_DOUBLE_EQ(Answer(spec).budget.value(), 1000 * 700e12);
  EXPECT_NEAR(*Answer(spec).devices->mfu, 700 / 989.4, 1e-3);
  spec.run.options.assumed_mfu = 0.5;
  const ComputeAllocation answer = Answer(spec);
  EXPECT_EQ(answer.devices->basis, EstimateKind::kTextbook);
  EXPECT_DOUBLE_EQ(answer.budget.value(), 1000 * answer.devices->rate.value() * 0.5);
  EXPECT_THAT(KindsOf(answer.notes), Not(Contains(NoteKind::kMeasuredBound)));
}

TEST(AllocateCompute, AnswersByAllRulesOrTheOneAskedFor) {
  AllocationSpec spec = OfFlops(5.76e23);
  EXPECT_THAT(Answer(spec).rules, SizeIs(ScalingRules().size()));
  spec.rule = ScalingRule::kChinchilla2;
  const ComputeAllocation answer = Answer(spec);
  ASSERT_THAT(answer.rules, SizeIs(1));
  EXPECT_EQ(answer.rules[0].rule->name, "chinchilla_2");
  EXPECT_FALSE(answer.devices.has_value());
  EXPECT_THAT(answer.rates, IsEmpty());
}

// Kaplan's range ends at 1.5 billion parameters, which 1.05e20 FLOPs make; that of approach 2 at
// 3e21 FLOPs, that of approach 3 at 500 billion tokens.
TEST(AllocateCompute, FlagsExtrapolation) {
  const ComputeAllocation low = Answer(OfFlops(1e21));
  EXPECT_TRUE(By(ScalingRule::kKaplan2020, low).extrapolated);
  for (size_t i = 1; i < low.rules.size(); ++i) EXPECT_FALSE(low.rules[i].extrapolated) << i;
  EXPECT_FALSE(By(ScalingRule::kKaplan2020, Answer(OfFlops(1e20))).extrapolated);
  const ComputeAllocation high = Answer(OfFlops(5.76e23));
  for (const RuleAllocation& rule : high.rules) EXPECT_TRUE(rule.extrapolated) << rule.rule->name;
}

// At four times the parameters the loss rises by its definition; at the optimum it is least.
TEST(AllocateCompute, SaysTheLossAndItsChangeOffTheOptimum) {
  const ComputeAllocation answer = Answer(OfFlops(6e21));
  const RuleAllocation& rule = By(ScalingRule::kChinchilla3, answer);
  EXPECT_NEAR(*rule.loss, 2.175219, 1e-6);  // scaling_law_test.cc has it by hand
  ASSERT_THAT(rule.off_optimum, SizeIs(4));
  EXPECT_EQ(rule.off_optimum[3].parameter_ratio, 4);
  // 0.219131 / 4^0.34 + 0.266088 x 4^0.28 - 0.485219
  EXPECT_NEAR(rule.off_optimum[3].loss_increase, 0.136775 + 0.392281 - 0.485219, 1e-5);
  EXPECT_FALSE(By(ScalingRule::kChinchilla1, answer).loss.has_value());
  EXPECT_THAT(By(ScalingRule::kChinchilla1, answer).off_optimum, IsEmpty());
}

// 8 FLOPs a parameter and token buy what 6 of three quarters of the budget do.
TEST(AllocateCompute, CountsRecomputationWhereAsked) {
  AllocationSpec spec = OfFlops(8e21);
  spec.flops_per_parameter_token = 8;
  const ComputeAllocation eight = Answer(spec);
  const ComputeAllocation six = Answer(OfFlops(6e21));
  for (size_t i = 0; i < six.rules.size(); ++i) {
    EXPECT_DOUBLE_EQ(eight.rules[i].optimum.parameters, six.rules[i].optimum.parameters);
    EXPECT_DOUBLE_EQ(eight.rules[i].optimum.tokens, six.rules[i].optimum.tokens);
  }
}

TEST(AllocateCompute, TrainsLongerWhatIsServed) {
  AllocationSpec spec = OfFlops(1e22);
  spec.served_token_count = 2e12;
  const ComputeAllocation answer = Answer(spec);
  EXPECT_FALSE(By(ScalingRule::kKaplan2020, answer).serving.has_value());
  const RuleAllocation& rule = By(ScalingRule::kChinchilla3, answer);
  ASSERT_TRUE(rule.serving.has_value());
  const ServingAllocation& serving = *rule.serving;
  EXPECT_LT(serving.size.parameters, rule.optimum.parameters);
  EXPECT_GT(serving.training.value(), 1e22);
  EXPECT_DOUBLE_EQ(serving.serving.value(), 2 * serving.size.parameters * 2e12);
  EXPECT_DOUBLE_EQ(serving.saved.value(), 1e22 + 2 * rule.optimum.parameters * 2e12 -
                                              (serving.training + serving.serving).value());
  EXPECT_GT(serving.saved_ratio, 0);
}

TEST(AllocateCompute, ServesNothingFromTheOptimum) {
  AllocationSpec spec = OfFlops(1e22);
  spec.served_token_count = 0;
  for (const RuleAllocation& rule : Answer(spec).rules) {
    if (!rule.serving.has_value()) continue;
    EXPECT_EQ(rule.serving->size.parameters, rule.optimum.parameters);
    EXPECT_EQ(rule.serving->size.tokens, rule.optimum.tokens);
    EXPECT_EQ(rule.serving->saved.value(), 0);
    EXPECT_EQ(rule.serving->saved_ratio, 0);
  }
}

// N = (1.2e25 / 6 / 200)^(1/2) = 1e11 and D = 200 N.
TEST(AllocateCompute, TakesARatioOfTokensToParameters) {
  AllocationSpec spec = OfFlops(1.2e25);
  spec.tokens_per_parameter = 200;
  const ComputeAllocation answer = Answer(spec);
  for (const RuleAllocation& rule : answer.rules) {
    ASSERT_TRUE(rule.at_ratio.has_value());
    EXPECT_DOUBLE_EQ(rule.at_ratio->size.parameters, 1e11);
    EXPECT_DOUBLE_EQ(rule.at_ratio->size.tokens, 2e13);
    EXPECT_EQ(rule.at_ratio->loss.has_value(), rule.loss.has_value());
  }
  const RuleAllocation& refit = By(ScalingRule::kBesiroglu2024, answer);
  EXPECT_GT(*refit.at_ratio->loss_increase, 0);
  // The optimum of that smaller budget has the same loss.
  const ComputeAllocation less = Answer(OfFlops(refit.at_ratio->equal_loss->value()));
  EXPECT_LT(less.budget.value(), 1.2e25);
  EXPECT_NEAR(*By(ScalingRule::kBesiroglu2024, less).loss, *refit.at_ratio->loss, 1e-12);
}

// The optimum's own ratio changes nothing.
TEST(AllocateCompute, FindsTheOptimumAtItsRatio) {
  AllocationSpec spec = OfFlops(1e22);
  spec.rule = ScalingRule::kChinchilla3;
  spec.tokens_per_parameter = Answer(spec).rules[0].optimum.tokens_per_parameter();
  const RuleAllocation rule = Answer(spec).rules[0];
  EXPECT_NEAR(rule.at_ratio->size.parameters / rule.optimum.parameters, 1, 1e-12);
  EXPECT_NEAR(*rule.at_ratio->loss_increase, 0, 1e-14);
  EXPECT_NEAR(rule.at_ratio->equal_loss->value() / 1e22, 1, 1e-9);
}

// At the ends of all ranges counts are whole numbers that fit 64 bits.
TEST(AllocateComputeFaults, KeepsCountsWithinAnInteger) {
  for (const double flops : {kMinBudgetFlops, kMaxBudgetFlops}) {
    for (const double ratio : {0.01, 1e6}) {
      for (const double served : {0.0, 1e18}) {
        AllocationSpec spec = OfFlops(flops);
        spec.tokens_per_parameter = ratio;
        spec.served_token_count = served;
        for (const RuleAllocation& rule : Answer(spec).rules) {
          for (const ModelSize& size :
               {rule.optimum, rule.at_ratio->size,
                rule.serving.has_value() ? rule.serving->size : rule.optimum}) {
            EXPECT_GE(size.parameters, 1);
            EXPECT_GE(size.tokens, 1);
            EXPECT_LT(size.parameters, 9e18);
            EXPECT_LT(size.tokens, 9e18);
          }
        }
      }
    }
  }
}

TEST(AllocateComputeFaults, NeedsOneBudget) {
  EXPECT_THAT(AllocateCompute({}, {}), NamesFields(ElementsAre("flops")));
  AllocationSpec both = OfH100s();
  both.flops = 1e21;
  EXPECT_THAT(AllocateCompute(both, {}),
              NamesFields(UnorderedElementsAre("cluster", "duration", "assumed_mfu")));
  AllocationSpec mfu = OfFlops(1e21);
  mfu.run.options.assumed_mfu = 0.5;
  EXPECT_THAT(AllocateCompute(mfu, {}),
              HasViolation("assumed_mfu", HasSubstr("leave it out, or leave out flops")));
}

TEST(AllocateComputeFaults, NeedsOneTime) {
  AllocationSpec spec = OfH100s();
  spec.duration_seconds.reset();
  EXPECT_THAT(AllocateCompute(spec, {}), NamesFields(ElementsAre("duration")));
  spec = OfH100s();
  spec.run.economics.seconds_to_deadline = 5;
  EXPECT_THAT(AllocateCompute(spec, {}),
              NamesFields(UnorderedElementsAre("duration", "economics.deadline")));
  spec = OfH100s();
  spec.duration_seconds = 0;
  EXPECT_THAT(AllocateCompute(spec, {}), NamesFields(ElementsAre("duration")));
  spec.duration_seconds = 1e-9;  // 4e6 FLOPs
  EXPECT_THAT(AllocateCompute(spec, {}),
              HasViolation("duration", HasSubstr("it has to have 1e+12 to 1e+30")));
}

TEST(AllocateComputeFaults, NeedsAPriceForMoney) {
  AllocationSpec spec = OfH100s();
  spec.duration_seconds.reset();
  spec.run.economics.budget_usd = 1000;
  EXPECT_THAT(AllocateCompute(spec, {}), NamesFields(ElementsAre("economics.budget_usd")));
  spec.run.economics.device_hour_price_usd = 0;
  EXPECT_THAT(AllocateCompute(spec, {}),
              NamesFields(ElementsAre("economics.device_hour_price_usd")));
  spec.run.economics.device_hour_price_usd = 1e-300;  // infinitely long
  EXPECT_THAT(AllocateCompute(spec, {}), NamesFields(ElementsAre("economics.budget_usd")));
}

TEST(AllocateComputeFaults, RefusesWhatHasNoSay) {
  AllocationSpec spec = OfH100s();
  spec.run.cluster.device_memory_bytes = 80'000'000'000;
  spec.run.cluster.reserved_memory_bytes = 1;
  spec.run.cluster.host_memory_bytes = 2'000'000'000'000;
  spec.run.cluster.node_type = "dgx-h100";
  spec.run.cluster.network.name = "ib-ndr";
  spec.run.economics.device_power_watts = 700;
  spec.run.economics.host_power_watts_per_device = 100;
  spec.run.economics.power_usage_effectiveness = 1.2;
  EXPECT_THAT(AllocateCompute(spec, {}),
              NamesFields(UnorderedElementsAre(
                  "cluster.device_memory_bytes", "cluster.reserved_memory_bytes",
                  "cluster.host_memory_bytes", "cluster.node_type", "cluster.network",
                  "economics.device_power_watts", "economics.host_power_watts_per_device",
                  "economics.power_usage_effectiveness")));
}

// By the words of this request, not of a plan's.
TEST(AllocateComputeFaults, NamesFaultsOfDevicesInItsOwnWords) {
  AllocationSpec spec = OfH100s();
  spec.run.options.assumed_mfu = 2;
  EXPECT_THAT(AllocateCompute(spec, {}), NamesFields(ElementsAre("assumed_mfu")));
  FieldViolations found;
  found.Add("assumed_mfu", "must be a number from 1e-06 to 1, not 2");  // said once
  EXPECT_THAT(AllocateCompute(spec, found), NamesFields(ElementsAre("assumed_mfu")));
  spec = OfH100s();
  spec.run.cluster.device.accelerator = "h100-sx";
  EXPECT_THAT(AllocateCompute(spec, {}), Fails(absl::StatusCode::kNotFound, "GPU_UNKNOWN"));
  spec = OfMeasured(Processor("CPU-1"), 1);
  spec.run.options.assumed_mfu = 0.5;  // of no known peak
  EXPECT_THAT(AllocateCompute(spec, {}), HasViolation("assumed_mfu", HasSubstr("share of a peak")));
  spec = OfMeasured(Processor("CPU-1"), 1);
  spec.run.training.precision.compute_data_type = DataType::kFp64;
  const absl::Status missing = AllocateCompute(spec, {}).status();
  EXPECT_THAT(missing, Fails(absl::StatusCode::kFailedPrecondition, "RATES_NOT_MEASURED"));
  EXPECT_THAT(std::string(missing.message()), HasSubstr("set compute_data_type to one"));
}

TEST(AllocateComputeFaults, NeedsAPeakInTheType) {
  AllocationSpec spec = OfH100s();
  spec.run.cluster.device.accelerator = "tpu-v5p";
  spec.run.training.precision.compute_data_type = DataType::kFp4;  // it has none
  spec.run.options.assumed_mfu.reset();
  EXPECT_THAT(AllocateCompute(spec, {}),
              HasViolation("cluster.peak_flops_per_second", HasSubstr("no fp4 peak of tpu-v5p")));
}

TEST(AllocateComputeFaults, ServesByLawsOfLossAlone) {
  AllocationSpec spec = OfFlops(1e21);
  spec.served_token_count = 1e12;
  spec.rule = ScalingRule::kChinchilla1;
  EXPECT_THAT(AllocateCompute(spec, {}),
              HasViolation("served_token_count", HasSubstr("chinchilla_3")));
}

TEST(AllocateComputeFaults, ReportsWhatWasFoundBefore) {
  FieldViolations found;
  found.Add("rule", "is unknown");
  EXPECT_THAT(AllocateCompute({}, found), NamesFields(UnorderedElementsAre("rule", "flops")));
}

}  // namespace
}  // namespace sextant
