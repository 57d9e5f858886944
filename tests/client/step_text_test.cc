#include "client/report/step_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "client/chart/step_chart.h"
#include "client/report/text.h"
#include "tests/client/sample_plan.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// 1e6 tokens in 10 s. Bars: 30 columns for 6 s are 7.5, 5, 4, 2.5, 0.98 and 0.02 for the others.
TEST(StepSection, IsAsWorkedByHand) {
  EXPECT_EQ(StepSection(SampleOfStep().plan()), R"(
One step: 10.0 s (9.00 to 12.0)
  1,000,000 tokens at 100,000 tokens/s, 64 micro-batches a rank, software toy_stack; stage 1 is the
  slowest, bubble 8.1 %
  cause                        time      %
  matrix products            6.00 s   60.0  ──────────────────────────────
  attention                  1.50 s   15.0  ────────
  tensor parallel exchange   1.00 s   10.0  ─────
  pipeline bubble            800 ms    8.0  ────
  passes over memory         500 ms    5.0  ───
  optimizer step             196 ms    2.0  ─
  data parallel exchange    4.00 ms  < 0.1
  A tenth more arithmetic rate: 6.8 % less time; link within servers: 0.9 %

  longest operations  pass       time     %  TFLOP/s  bound by
  feed_forward up     weight   2.50 s  25.0      612  arithmetic
  attention gather    forward  750 ms   7.5        -  exchange
  Kernels' times, 75.0 %: reference, sum of declared terms
  Kernels' times, 25.0 %: measured-device, a datasheet; measured 2025-11-21 12:00:00 UTC
)");
}

TEST(StepSection, HasNoStagesWithoutAPipeline) {
  v1::Plan plan = SampleOfStep().plan();
  v1::StepTime& step = *plan.mutable_step_time();
  step.mutable_parts()->DeleteSubrange(4, 1);
  step.set_bubble_ratio(0);
  step.set_slowest_stage(0);
  step.set_micro_batch_count(1);
  EXPECT_THAT(StepSection(plan), HasSubstr(", 1 micro-batch a rank, software toy_stack\n  cause"));
}

TEST(StepSection, IsLeftOutWithoutAPrediction) {
  EXPECT_EQ(StepSection(SampleResponse().plan()), "");
  EXPECT_EQ(SoftwareSection(SampleResponse().plan()), "");
}

// A BASIC view has no sensitivities.
TEST(StepSection, ClaimsNoSavingsThatItDoesNotKnow) {
  v1::Plan plan = SampleOfStep().plan();
  plan.mutable_step_time()->clear_sensitivities();
  EXPECT_THAT(StepSection(plan), Not(HasSubstr("A tenth more")));
}

TEST(SoftwareSection, NamesFlagsAndSources) {
  EXPECT_EQ(SoftwareSection(SampleOfStep().plan()), R"(
Software toy_stack, as the time of a step assumes (docs/step_time.md)
  --attention-time-ratio    1.4  [2]
  --growth-per-doubling   0.002  given
  --one-copy-per-node      true  [2]
  [2] sum of declared terms
)");
}

// In words of their own, with neither underscores nor hyphens of the API's names.
TEST(CauseWords, TellAllCausesApart) {
  std::set<std::string> seen;
  for (int cause = 1; cause < v1::StepCause_ARRAYSIZE; ++cause) {
    const std::string words = CauseWords(static_cast<v1::StepCause>(cause));
    EXPECT_TRUE(seen.insert(words).second) << words;
    EXPECT_THAT(words, testing::MatchesRegex("[a-z ]+")) << cause;
  }
  EXPECT_EQ(CauseWords(v1::STEP_CAUSE_PIPELINE_BUBBLE), "pipeline bubble");
  EXPECT_EQ(CauseWords(v1::STEP_CAUSE_ATTENTION), "attention");
}

TEST(StepSection, NeverPasses99Columns) {
  v1::Plan plan = SampleOfStep().plan();
  const std::string word(240, 'w');
  plan.mutable_step_time()->set_software_stack(word);
  plan.mutable_step_time()->mutable_assumptions(0)->set_field(word);
  for (std::string& source : *plan.mutable_sources()) source = word;
  for (v1::StepPart& part : *plan.mutable_step_time()->mutable_parts()) part.set_seconds(1e300);
  const std::vector<std::string> lines =
      absl::StrSplit(StepSection(plan) + SoftwareSection(plan), '\n');
  for (const std::string& line : lines) {
    EXPECT_LE(DisplayWidth(line), static_cast<int64_t>(kTextWidth)) << line;
  }
}

}  // namespace
}  // namespace sextant::client
