#include "client/report/whole_run_text.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

#include "client/report/plan_text.h"
#include "tests/client/sample_plan.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Goodput 80 %: 200,000 s of steps in 250,000 s.
v1::PlanRunResponse SampleOfWholeRun() {
  v1::PlanRunResponse out = SampleOfStep();
  v1::Plan& plan = *out.mutable_plan();
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(
      R"pb(
        basis: ESTIMATE_KIND_PREDICTED
        step_count: 20000
        goodput_ratio: 0.8
        stall_share: 0.05
        checkpoint_share: 0.03
        failure_share: 0.12
        mean_time_between_failures_seconds: 10800
        expected_failure_count: 23.148
        recommended_time_limit_seconds: 302400
        checkpoint {
          terms { name: "weight" size_bytes: 2000000000 }
          terms { name: "first_moment" size_bytes: 4000000000 }
          size_bytes: 6000000000
          write_seconds: 60
          stall_seconds: 30
          young_interval_seconds: 1138
          daly_interval_seconds: 1118
          interval_seconds: 1118
          count: 188
          resume_read_bytes: 12000000000
          resume_read_bytes_per_device: 1500000000
          resume_read_seconds: 120
        }
        data_loading {
          bytes_per_token_id: 2
          token_file_bytes: 40000000000
          read_bytes_per_second: 200000
          device_step_bytes: 4000000
          device_copy_seconds: 0.0001
        }
        slowest_device {
          uuid: "GPU-7"
          saved_share: 0.04
          saved_seconds: 10000
          saved_cost_usd: 44.44
        }
        telemetry {
          flops_convention: FLOPS_CONVENTION_SIX_N_TOTAL
          model_flops_per_token: 6e9
          planned_mfu: 0.075
          peak_flops_per_second: 1e15
          compute_data_type: DATA_TYPE_BF16
          planned_tokens_per_second: 100000
        }
      )pb",
      plan.mutable_whole_run()));
  for (v1::TimeEstimate& estimate : *plan.mutable_estimates()) {
    if (estimate.kind() != v1::ESTIMATE_KIND_PREDICTED) continue;
    v1::Interval& elapsed = *estimate.mutable_elapsed_seconds();
    elapsed.set_expected(250'000);
    elapsed.set_low(225'000);
    elapsed.set_high(300'000);
    estimate.mutable_deadline()->set_verdict(v1::LimitCheck::VERDICT_MET);
    estimate.mutable_deadline()->set_margin(43'200);
    estimate.mutable_deadline()->set_chance(0.91);
    estimate.mutable_budget()->set_verdict(v1::LimitCheck::VERDICT_MISSED);
    estimate.mutable_budget()->set_margin(-111.5);
  }
  return out;
}

TEST(WholeRunText, IsAsWorkedByHand) {
  EXPECT_EQ(WholeRunSection(SampleOfWholeRun().plan()), R"(
Whole run
  steps                        20,000
  goodput                      80.0 %  checkpoints 3.0 %, failures 12.0 %, stalls 5.0 %
  failures                       23.1  one in 3.00 hours on average
  time limit                3.50 days  for the scheduler: 9 in 10 runs end within it
  checkpoint                  6.00 GB  weight 2.00 GB, first moment 4.00 GB
  written every               1,118 s  a write takes 60.0 s, stalls 30.0 s; Daly 1,118 s, Young
                                       1,138 s
  a resume reads             12.00 GB  by all devices, at most 1.50 GB each, in 120 s
  token file                 40.00 GB  2 bytes a token, read at 200.00 kB/s
  ids to a device              100 us  a step, 4.00 MB from pinned memory
  slowest device                4.0 %  of the run, 2.78 hours and 44.44 USD, would be saved without
                                       GPU-7
  telemetry        6,000,000,000 FLOP  a token, MFU 0.075 of 1,000,000,000,000,000 FLOP/s in bf16
)");
}

TEST(WholeRunText, LimitsAreInTheFirstLines) {
  const std::string text = PlanText(SampleOfWholeRun(), absl::UnixEpoch());
  EXPECT_THAT(text, HasSubstr("\n  limits  deadline met, 12.0 hours to spare, chance 91.0 %; "
                              "budget missed by 111.50 USD\n"));
  // The elapsed time, not that of the steps: 250,000 s are 2.894 days.
  EXPECT_THAT(text, HasSubstr("2.89 days predicted (2.60 to 3.47)"));
  EXPECT_THAT(text, HasSubstr("Time and cost (whole run)"));
  EXPECT_THAT(text, HasSubstr("\n  its steps "));
}

TEST(WholeRunText, OfARunWithoutInterruptionsHasNoGoodput) {
  v1::PlanRunResponse response = SampleOfStep();
  v1::WholeRun& run = *response.mutable_plan()->mutable_whole_run();
  run.set_goodput_ratio(1);
  run.mutable_checkpoint()->set_size_bytes(1000);
  const std::string text = PlanText(response, absl::UnixEpoch());
  EXPECT_THAT(text, HasSubstr("\nWhole run\n"));
  EXPECT_THAT(text, Not(HasSubstr("goodput")));
  EXPECT_THAT(text, Not(HasSubstr("its steps")));
  EXPECT_THAT(text, Not(HasSubstr("written every")));
}

}  // namespace
}  // namespace sextant::client
