// The text of a plan in a BASIC view.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/report/plan_text.h"
#include "tests/client/sample_plan.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;

const absl::Time kReadAt = absl::FromUnixSeconds(1'763'812'800);  // 2025-11-22 12:00:00 UTC

constexpr char kGoldenInBrief[] =
    R"(STATE FITS: toy (1,000,000,000 parameters), 20,000,000,000 tokens, 8 x h100-sxm
  counts  model state; no activations; divided over all devices
  memory  1.86 GiB needed, 74.51 GiB usable per device: headroom 72.64 GiB
  device  74.51 GiB (80.00 GB), the nominal size: no figure of its driver is known
  time    at least 4.17 hours (lower bound); 10.42 hours by the textbook at 40.00 % MFU

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

}  // namespace
}  // namespace sextant::client
