// The text of a plan in a BASIC view.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "client/report/plan_head.h"
#include "client/report/plan_text.h"
#include "client/report/text.h"
#include "tests/client/sample_calibration.h"
#include "tests/client/sample_plan.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const absl::Time kReadAt = absl::FromUnixSeconds(1'763'812'800);  // 2025-11-22 12:00:00 UTC

constexpr char kGoldenInBrief[] =
    R"(STATE FITS: toy (1,000,000,000 parameters), 20,000,000,000 tokens, 8 x h100-sxm
  memory  1.86 GiB needed, 74.51 GiB usable per device: headroom 72.64 GiB
  counts  model state; no activations; divided over all devices
  time    at least 4.17 hours (lower bound); 10.42 hours by the textbook at 40.00 % MFU
  run     83 device-hours, 166.67 USD, 58.33 kWh, by the textbook
  rates   datasheet: peak flops; request: device power
  warning Activations are not counted, so the run may need much more memory: give layout to have
          them counted, or --activation-bytes.

Model
  total          1,000,000,000  parameters
  embedding        200,000,000
  non-embedding    800,000,000

Arithmetic (training, forward and backward)
  convention    per token        whole run  counts
  six-n-total  6.00 GFLOP  1.2000e+20 FLOP  model   <- used for the times

Time and cost (whole run, no failures or stalls)
                      lower bound   textbook estimate
  MFU                    100.00 %             40.00 %
  duration             4.17 hours         10.42 hours
  device time  33.33 device-hours  83.33 device-hours
  throughput   1,333,333 tokens/s    533,333 tokens/s
  cost                  66.67 USD          166.67 USD
  energy                23.33 kWh           58.33 kWh
  lower bound: full peak
  textbook estimate: assumed MFU

Warnings
  - Activations are not counted, so the run may need much more memory: give layout to have them
    counted, or --activation-bytes.

Rates used
  peak_flops_per_second (bf16)  1.00 PFLOP/s  datasheet  h100-sxm
  device_power_watts                700.00 W  request

engine 0.1.0, rates c0ffee
)";

// A scheduler reads it: no section is empty, and no source is left open.
TEST(PlanText, OfABasicViewIsShort) {
  EXPECT_EQ(PlanText(BasicView(SampleOfModelState()), kReadAt), kGoldenInBrief);
  // The fewest devices are of the full view.
  EXPECT_THAT(PlanText(BasicView(SampleThatDoesNotFit()), kReadAt),
              HasSubstr(": short by 5.59 GiB\n"));
}

// At most 20 lines of 80 columns, or fewer of more.
TEST(BriefPlan, FitsATerminal) {
  const v1::Plan plan = SampleMeasuredPlan().plan();
  for (const size_t width : {40u, 80u, 120u, 160u}) {
    const std::string text = BriefPlan(plan, kReadAt, width);
    const std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
    EXPECT_LE(lines.size(), width < 80 ? 40u : 20u) << text;
    for (const std::string& line : lines) EXPECT_LE(DisplayWidth(line), width) << line;
    EXPECT_THAT(lines.back(), HasSubstr("--output=json"));
  }
}

// The predicted time stands on kernels more than on any rate.
TEST(BriefPlan, SaysThatAMeasuredStepHasASay) {
  v1::Plan plan = *SampleOfStep().mutable_plan();
  v1::StepCalibration* measured = plan.mutable_step_time()->mutable_calibration();
  measured->set_factor(1.0625);
  EXPECT_THAT(BriefPlan(plan, kReadAt, 200), Not(HasSubstr("measured step")));  // too unlike
  measured->set_applied(true);
  EXPECT_THAT(BriefPlan(plan, kReadAt, 200),
              HasSubstr("a step takes 10.0 s (9.00 to 12.0), 1.06 times the prediction as the "
                        "measured step says, 7.5 % MFU"));
}

TEST(RatesWords, NameTheKernelsOfAStepFirst) {
  v1::Plan plan = SampleOfStep().plan();
  EXPECT_THAT(
      RatesWords(plan, kReadAt),
      StartsWith("reference: kernels (75.0 %); measured-device: kernels (25.0 %) 24.0 hours "
                 "ago; datasheet: "));
  EXPECT_THAT(RatesWords(plan, kReadAt, KernelShares::kLeftOut),
              StartsWith("reference: kernels; measured-device: some kernels 24.0 hours ago; "));
  plan.mutable_step_time()->mutable_kernel_sources(1)->set_source(v1::RATE_SOURCE_REFERENCE);
  EXPECT_THAT(RatesWords(plan, kReadAt), StartsWith("reference: kernels; datasheet: "));
}

// A limit that has its line has no warning as well.
TEST(RatesWords, SayThatKernelsOfAFleetAreScaled) {
  v1::Plan plan;
  plan.mutable_step_time()->add_kernel_sources()->set_source(v1::RATE_SOURCE_REFERENCE);
  EXPECT_EQ(RatesWords(plan, absl::UnixEpoch()), "reference: kernels");
  plan.mutable_fleet()->set_device_count(16);
  EXPECT_EQ(RatesWords(plan, absl::UnixEpoch()), "reference: kernels scaled to the fleet's rates");
}

TEST(BriefPlan, SaysOnceThatALimitIsMissed) {
  v1::Plan plan = SampleOfStep().plan();
  plan.clear_warnings();
  v1::Note& missed = *plan.add_warnings();
  missed.set_kind(v1::NOTE_KIND_DEADLINE_MISSED);
  missed.set_text("The predicted run ends late.");
  EXPECT_THAT(BriefPlan(plan, kReadAt, 80), Not(HasSubstr("warning")));
  v1::Note& other = *plan.add_warnings();
  other.set_kind(v1::NOTE_KIND_FEW_MICRO_BATCHES);
  other.set_text("Stages idle.");
  EXPECT_THAT(BriefPlan(plan, kReadAt, 80), HasSubstr("  warning Stages idle.\n"));
}

TEST(BriefPlan, SaysHowOldAndHowSureItsRatesAre) {
  v1::Plan plan = SampleMeasuredPlan().plan();
  bool found = false;
  for (v1::RateUsed& rate : *plan.mutable_rates()) {
    if (!rate.has_measured_time()) continue;
    rate.set_stable(false);
    rate.mutable_measured_time()->set_seconds(absl::ToUnixSeconds(kReadAt - absl::Hours(12 * 24)));
    found = true;
  }
  ASSERT_TRUE(found);
  EXPECT_THAT(BriefPlan(plan, kReadAt, 160), HasSubstr("12.0 days ago (unstable)"));
}

}  // namespace
}  // namespace sextant::client
