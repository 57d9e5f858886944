// Words for amounts and for layouts; a layout's row in the table of a search.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/report/plan_text.h"
#include "client/text/amounts.h"
#include "client/text/layout_words.h"
#include "tests/client/fixture.h"

namespace sextant::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(Flops, AreExactWhereTheyAreWhole) {
  EXPECT_EQ(ExactFlops(8796093022208), "8,796,093,022,208 FLOP (8.80 TFLOP)");
  EXPECT_EQ(ExactFlops(144), "144 FLOP");
  EXPECT_EQ(ExactFlops(0), "0 FLOP");
  EXPECT_EQ(ExactFlops(1677.7216), "1.68 kFLOP");
  EXPECT_EQ(ExactFlops(6.3e24), "6.3e+24 FLOP (6.300e+24 FLOP)");
  EXPECT_EQ(ShortFlops(999), "999 FLOP");
  EXPECT_EQ(ShortFlops(0.5), "0.5 FLOP");
  EXPECT_EQ(ShortFlops(1000), "1.00 kFLOP");
}

TEST(Bytes, NeverReadAsZeroWhereTheyAreNot) {
  EXPECT_EQ(ShortBytes(0), "0 bytes");
  EXPECT_EQ(ShortBytes(1), "1 byte");
  EXPECT_EQ(ShortBytes(128), "128 bytes");
  EXPECT_EQ(ShortBytes(1024), "1.00 KiB");
  EXPECT_EQ(ShortBytes(1879048192), "1.75 GiB");
  EXPECT_EQ(ExactBytes(128), "128 bytes");
  EXPECT_EQ(ExactBytes(2415919104), "2,415,919,104 bytes (2.25 GiB)");
}

TEST(Intensity, HasItsUnit) {
  EXPECT_EQ(IntensityText(4681.142857), "4,681.14 FLOP/byte");
  EXPECT_EQ(IntensityText(1.0 / 12), "0.08333 FLOP/byte");
  EXPECT_EQ(IntensityText(1.25e-5), "1.25e-05 FLOP/byte");
  EXPECT_EQ(IntensityNumber(0), "0");
}

TEST(Time, NeverReadsAsZeroWhereItIsNot) {
  EXPECT_EQ(TimeText(0), "0.00 s");
  EXPECT_EQ(TimeText(8.9085e-3), "8.91 ms");
  EXPECT_EQ(TimeText(7200), "2.00 hours");
  EXPECT_EQ(TimeText(2e-11), "0.02 ns");
  EXPECT_EQ(TimeText(1.25e-13), "1.25e-13 s");
}

TEST(Duration, HasThreeDigits) {
  constexpr double kDay = 86400;
  EXPECT_EQ(DurationToThreeDigits(9.994 * kDay), "9.99 days");
  EXPECT_EQ(DurationToThreeDigits(9.996 * kDay), "10.0 days");
  EXPECT_EQ(DurationToThreeDigits(99.94 * kDay), "99.9 days");
  EXPECT_EQ(DurationToThreeDigits(99.96 * kDay), "100 days");
  EXPECT_EQ(DurationToThreeDigits(156 * kDay), "156 days");
}

// Ends have the expected time's unit, a day, though the low one is less.
TEST(Duration, HasItsEndsInItsUnit) {
  v1::Interval days;
  days.set_low(21'600);
  days.set_expected(2 * 86'400);
  days.set_high(15 * 86'400);
  EXPECT_EQ(DurationEndsText(days), "0.25 to 15.0");
}

// 2^20 tokens in 2 s.
TEST(StepSection, SaysTokensASecondOfTheExpectedStep) {
  v1::Plan plan;
  v1::StepTime& step = *plan.mutable_step_time();
  step.mutable_seconds()->set_low(1);
  step.mutable_seconds()->set_expected(2);
  step.mutable_seconds()->set_high(4);
  step.set_token_count(1 << 20);
  step.set_micro_batch_count(3);
  EXPECT_THAT(StepSection(plan), HasSubstr("2.00 s (1.00 to 4.00)"));
  EXPECT_THAT(StepSection(plan),
              HasSubstr("1,048,576 tokens at 524,288 tokens/s, 3 micro-batches"));
}

TEST(Ratio, NeverReadsAsZeroWhereItIsNot) {
  EXPECT_EQ(RatioText(2), "2.00 x");
  EXPECT_EQ(RatioText(0), "0.00 x");
  EXPECT_EQ(RatioText(0.00125), "0.00125 x");
}

TEST(SizesText, IsAList) {
  EXPECT_EQ(SizesText({4, 8}), "[4, 8]");
  EXPECT_EQ(SizesText({}), "[]");
}

v1::Plan Sample() {
  return FromText<v1::Plan>(
      R"pb(
        search {
          chosen {
            layout {
              parallel {
                tensor_parallel_size: 4
                pipeline_parallel_size: 3
                virtual_stage_count: 1
                layers_per_chunk: [ 10, 11, 11 ]
                expert_parallel_size: 1
              }
              context_parallel_size: 2
              micro_batch_size: 1
              sequence_parallel: true
              schedule: PIPELINE_SCHEDULE_ZERO_BUBBLE_H1
              sharding { zero_stage: ZERO_STAGE_OPTIMIZER }
              kernels { recompute_norm_outputs: true recompute_activation_function: true }
            }
            recompute: RECOMPUTE_POLICY_NONE
            step_seconds { expected: 2 low: 1.9 high: 2.2 }
            peak_bytes { expected: 64424509440 }
            fit_chance: 0.99
            tie: true
          }
          alternatives {
            layout {
              parallel {
                tensor_parallel_size: 1
                pipeline_parallel_size: 1
                virtual_stage_count: 1
                expert_parallel_size: 8
                expert_tensor_parallel_size: 1
              }
              context_parallel_size: 1
              micro_batch_size: 4
              sharding { zero_stage: ZERO_STAGE_PARAMETERS shard_group_size: 8 }
            }
            recompute: RECOMPUTE_POLICY_FULL
            step_seconds { expected: 3 low: 2.9 high: 3.2 }
            peak_bytes { expected: 32212254720 }
            fit_chance: 1
          }
          considered_count: 12345
          evaluated_count: 345
          pruned { reason: REASON_BATCH count: 2000 }
          pruned { reason: REASON_MEMORY count: 10000 }
          exhaustive: true
          tie_ratio: 0.03
        }
      )pb");
}

// 384 devices: 4 x 2 x 3 = 24 share a replica of the first.
TEST(LayoutName, HasSizesAboveOne) {
  const v1::Plan plan = Sample();
  EXPECT_EQ(LayoutName(plan.search().chosen(), 384), "tp 4 sp cp 2 pp 3 dp 16 zero 1 mbs 1 zb-h1");
  EXPECT_EQ(LayoutName(plan.search().alternatives(0), 384),
            "tp 1 pp 1 ep 8 dp 384 zero 3 by 8 mbs 4");
  EXPECT_EQ(LayoutName(v1::LayoutOption(), 0), "tp 1 pp 1 dp 0 mbs 1");
}

TEST(LayoutFlags, GiveAllThatIsChosen) {
  const v1::Plan plan = Sample();
  EXPECT_EQ(LayoutFlags(plan.search().chosen()),
            "--tp=4 --sp=true --cp=2 --pp=3 --vpp=1 --layers-per-chunk=10x11x11 --zero=1 --mbs=1 "
            "--recompute=none --recompute-norm-outputs=true --recompute-activation-function=true "
            "--schedule=zb-h1");
  EXPECT_EQ(LayoutFlags(plan.search().alternatives(0)),
            "--tp=1 --cp=1 --pp=1 --vpp=1 --ep=8 --etp=1 --zero=3 --shard-group-size=8 --mbs=4 "
            "--recompute=full");
}

TEST(SearchSection, SaysWhatIsOffloaded) {
  v1::Plan plan = Sample();
  EXPECT_THAT(SearchSection(plan), Not(HasSubstr("host memory")));
  v1::LayoutOption& chosen = *plan.mutable_search()->mutable_chosen();
  chosen.mutable_layout()->mutable_sharding()->set_offload_optimizer(true);
  EXPECT_THAT(LayoutName(chosen, 24), HasSubstr("zero 1 off"));
  EXPECT_THAT(LayoutFlags(chosen), HasSubstr("--zero=1 --offload-optimizer=true --mbs"));
  EXPECT_THAT(SearchSection(plan), HasSubstr("1 off"));
  v1::LayoutOption& other = *plan.mutable_search()->mutable_alternatives(0);
  other.mutable_layout()->mutable_sharding()->set_offload_optimizer(true);
  other.mutable_layout()->mutable_sharding()->set_offload_parameters(true);
  EXPECT_THAT(LayoutName(other, 24), HasSubstr("zero 3 by 8 off+w"));
  EXPECT_THAT(LayoutFlags(other),
              HasSubstr("--offload-optimizer=true --offload-parameters=true --mbs"));
}

// In one line.
std::string SearchWords(const v1::Plan& plan) {
  return absl::StrJoin(
      absl::StrSplit(SearchSection(plan), absl::ByAnyChar(" \n"), absl::SkipEmpty()), " ");
}

// 22,345 less 345 and 12,000.
TEST(SearchSection, SaysWhatWasLeftOut) {
  v1::Plan plan = Sample();
  plan.mutable_search()->set_considered_count(22345);
  EXPECT_THAT(SearchWords(plan), Not(HasSubstr("were not looked at")));
  plan.mutable_search()->set_exhaustive(false);
  EXPECT_THAT(SearchWords(plan), HasSubstr("10,000 that are likely"));
}

TEST(SearchSection, MarksSizesBeyondPublishedRuns) {
  v1::Plan plan = Sample();
  EXPECT_THAT(SearchWords(plan), Not(HasSubstr("published")));
  v1::UnpublishedSize& size = *plan.mutable_search()->mutable_chosen()->add_unpublished_sizes();
  size.set_field("context_parallel_size");
  size.set_size(64);
  size.set_published_most(32);
  size.set_source("a paper");
  EXPECT_THAT(SearchWords(plan),
              HasSubstr("published runs in context_parallel_size 64 (at most 32: a paper)."));
  EXPECT_THAT(SearchWords(plan), HasSubstr("*: unpublished sizes."));
  EXPECT_THAT(BestLayouts(plan, 2, 80), AllOf(HasSubstr("*: unpublished sizes"), HasSubstr("* ")));
}

// Layouts that differ in one field make different tables.
TEST(SearchSection, TellsApartWhateverASearchVaries) {
  const auto table_of = [](const v1::RunLayout& layout) {
    v1::Plan plan = Sample();
    *plan.mutable_search()->mutable_alternatives(0)->mutable_layout() = layout;
    const std::string text = SearchSection(plan);
    return text.substr(0, text.find("=: within"));
  };
  const v1::RunLayout plain = Sample().search().alternatives(0).layout();
  std::vector<v1::RunLayout> layouts(14, plain);
  layouts[1].mutable_parallel()->set_tensor_parallel_size(2);
  layouts[2].mutable_parallel()->set_pipeline_parallel_size(2);
  layouts[3].mutable_parallel()->set_virtual_stage_count(2);
  layouts[4].mutable_parallel()->set_expert_parallel_size(4);
  layouts[5].mutable_parallel()->set_expert_tensor_parallel_size(2);
  layouts[6].set_context_parallel_size(4);
  layouts[7].set_micro_batch_size(2);
  layouts[8].set_sequence_parallel(true);
  layouts[9].set_schedule(v1::PIPELINE_SCHEDULE_GPIPE);
  layouts[10].mutable_sharding()->set_zero_stage(v1::ZERO_STAGE_GRADIENTS);
  layouts[11].mutable_sharding()->set_shard_group_size(16);
  layouts[12].mutable_sharding()->set_reshard_after_forward(false);
  layouts[13].mutable_kernels()->set_recomputed_layers_per_block(4);
  std::set<std::string> tables;
  for (const v1::RunLayout& layout : layouts) {
    const std::string table = table_of(layout);
    EXPECT_TRUE(tables.insert(table).second) << table << layout.ShortDebugString();
  }
}

TEST(SearchSection, SaysWhatKeepsItsWeights) {
  v1::Plan plan = Sample();
  EXPECT_THAT(SearchSection(plan), Not(HasSubstr("keep")));
  v1::LayoutOption& other = *plan.mutable_search()->mutable_alternatives(0);
  other.mutable_layout()->mutable_sharding()->set_reshard_after_forward(false);
  EXPECT_THAT(SearchSection(plan), HasSubstr("3 by 8 keep"));
  EXPECT_THAT(SearchSection(plan), HasSubstr("keep: weights stay gathered"));
  EXPECT_THAT(LayoutName(other, 24), HasSubstr("zero 3 by 8 keep"));
}

}  // namespace
}  // namespace sextant::client
