// Invalid budgets of compute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/engine/search/budgets.h"

namespace sextant {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST(AllocateComputeFaults, RefusesBudgetsOutOfRange) {
  const double inf = std::numeric_limits<double>::infinity();
  for (const double flops : {0.0, -1e21, std::nan(""), inf, -inf, 1e300, 9e11, 1.1e30}) {
    EXPECT_THAT(AllocateCompute(OfFlops(flops), {}), NamesFields(ElementsAre("flops"))) << flops;
  }
  for (const double flops : {kMinBudgetFlops, kMaxBudgetFlops}) Answer(OfFlops(flops));
}

TEST(AllocateComputeFaults, RefusesUsesOutOfRange) {
  for (const double bad : {-1.0, std::nan(""), 1e300}) {
    AllocationSpec spec = OfFlops(1e21);
    spec.served_token_count = bad;
    spec.tokens_per_parameter = bad;
    spec.flops_per_parameter_token = bad;
    EXPECT_THAT(AllocateCompute(spec, {}),
                NamesFields(UnorderedElementsAre("served_token_count", "tokens_per_parameter",
                                                 "flops_per_parameter_token")));
  }
  AllocationSpec zero = OfFlops(1e21);
  zero.tokens_per_parameter = 0;
  zero.flops_per_parameter_token = 0;
  EXPECT_THAT(AllocateCompute(zero, {}), NamesFields(UnorderedElementsAre(
                                             "tokens_per_parameter", "flops_per_parameter_token")));
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
  spec.run.cluster.node_type = "dgx-h100";
  spec.run.cluster.network.name = "ib-ndr";
  spec.run.economics.device_power_watts = 700;
  spec.run.economics.host_power_watts_per_device = 100;
  spec.run.economics.power_usage_effectiveness = 1.2;
  EXPECT_THAT(AllocateCompute(spec, {}),
              NamesFields(UnorderedElementsAre(
                  "cluster.device_memory_bytes", "cluster.reserved_memory_bytes",
                  "cluster.node_type", "cluster.network", "economics.device_power_watts",
                  "economics.host_power_watts_per_device", "economics.power_usage_effectiveness")));
}

// By the words of this request, not of a plan's.
TEST(AllocateComputeFaults, NamesFaultsOfDevicesInItsOwnWords) {
  AllocationSpec spec = OfH100s();
  spec.run.options.assumed_mfu = 2;
  spec.run.cluster.device_count = 0;
  EXPECT_THAT(AllocateCompute(spec, {}),
              NamesFields(UnorderedElementsAre("assumed_mfu", "cluster.device_count")));
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
  spec.run.training.precision.compute_data_type = DataType::kFp4;  // H100s have none
  spec.run.options.assumed_mfu.reset();
  EXPECT_THAT(AllocateCompute(spec, {}),
              HasViolation("cluster.peak_flops_per_second", HasSubstr("no fp4 peak of h100-sxm")));
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
  EXPECT_THAT(AllocateCompute(OfFlops(0), found),
              NamesFields(UnorderedElementsAre("rule", "flops")));
}

}  // namespace
}  // namespace sextant
