// Changes that make a run fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "engine/run/memory_estimate.h"
#include "engine/run/plan.h"
#include "tests/engine/run/layout_runs.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST(FittingChanges, EachMakesItFit) {
  RunSpec run = Llama70b();
  run.layout->micro_batch_size = 2;
  run.cluster.device_memory_bytes = 60'000'000'000;
  const auto plan = PlanRun(run);
  ASSERT_THAT(plan, IsOk());
  const MemoryEstimate& memory = *plan->memory_estimate;
  EXPECT_EQ(plan->verdict(), Verdict::kDoesNotFit);
  ASSERT_THAT(memory.changes, Not(IsEmpty()));
  for (const FittingChange& change : memory.changes) {
    EXPECT_THAT(change.settings, Not(IsEmpty()));
    EXPECT_LE(change.process.high, memory.usable) << change.settings[0].field;
    EXPECT_FALSE(change.cost_text.empty());
  }
}

// A change's figures are those of a request with the change.
TEST(FittingChanges, AreWhatTheChangedRunHolds) {
  RunSpec run = Llama70b();
  run.layout->micro_batch_size = 2;
  run.cluster.device_memory_bytes = 60'000'000'000;
  const MemoryEstimate memory = EstimateOf(run);
  const auto full =
      std::find_if(memory.changes.begin(), memory.changes.end(), [](const FittingChange& change) {
        return change.settings[0].field == "training.recompute" &&
               change.settings[0].to == SettingValue(RecomputePolicy::kFull);
      });
  ASSERT_NE(full, memory.changes.end());
  run.training.recompute = RecomputePolicy::kFull;
  const MemoryEstimate changed = EstimateOf(run);
  EXPECT_EQ(changed.verdict, Verdict::kFits);
  EXPECT_EQ(changed.peak().process.high, full->process.high);
  EXPECT_EQ(changed.peak().process.expected, full->process.expected);
}

// 70.6e9 parameters at 16 bytes over TP 8 are 141 GB a device of 40: one more of anything that
// takes no host memory won't do.
TEST(FittingChanges, APairWhereNoSingleOneWillDo) {
  RunSpec run = Llama70b();
  run.cluster.device.accelerator = "a100-sxm-40";
  run.cluster.device_count = 8;
  run.layout->parallel.pipeline_parallel_size = 1;
  run.layout->global_batch_size = 8;
  run.cluster.device_memory_bytes = 40'000'000'000;
  const MemoryEstimate memory = EstimateOf(run);
  EXPECT_EQ(memory.verdict, Verdict::kDoesNotFit);
  ASSERT_THAT(memory.changes, Not(IsEmpty()));
  EXPECT_GE(memory.changes[0].settings.size(), 2u);
  for (const FittingChange& change : memory.changes) {
    EXPECT_LE(change.process.high, memory.usable);
  }
  EXPECT_GT(memory.changes_considered, 10);
}

// Case D on devices of 38 GB: sixteen times the devices would do; two settings are cheaper.
TEST(FittingChanges, APairIsCheaperThanMoreDevices) {
  RunSpec run;
  run.model.preset = "mixtral-8x7b";
  run.training.token_count = 1;
  run.training.sequence_length = 4096;
  run.training.precision.gradient_data_type = DataType::kFp32;
  run.cluster.device.accelerator = "a100-sxm-40";
  run.cluster.device_memory_bytes = 38'000'000'000;
  run.cluster.device_count = 32;
  run.layout = RunLayout();
  run.layout->parallel = {.pipeline_parallel_size = 4, .expert_parallel_size = 8};
  run.layout->global_batch_size = 256;
  run.layout->zero_stage = ZeroStage::kOptimizer;
  const MemoryEstimate memory = EstimateOf(run);
  ASSERT_THAT(memory.changes, SizeIs(2));
  EXPECT_GE(memory.changes[0].settings.size(), 2u);
  for (const ChangedSetting& setting : memory.changes[0].settings) {
    EXPECT_NE(setting.field, "cluster.device_count");
  }
  ASSERT_THAT(memory.changes[1].settings, SizeIs(1));
  EXPECT_EQ(memory.changes[1].settings[0].field, "cluster.device_count");
}

// A change that a request refuses is none.
TEST(FittingChanges, StayWithinTheLimitsOfRequests) {
  RunSpec run = Llama70b();
  run.cluster.device_count = 600'000 / 32 * 32;
  run.layout->global_batch_size = absl::nullopt;
  run.cluster.device_memory_bytes = 20'000'000'000;
  for (const FittingChange& change : EstimateOf(run).changes) {
    for (const ChangedSetting& setting : change.settings) {
      EXPECT_NE(setting.field, "cluster.device_count");
    }
  }
}

TEST(FittingChanges, NoneWhereItFits) {
  RunSpec run = Llama70b();
  run.cluster.device_memory_bytes = 1'000'000'000'000;
  const MemoryEstimate memory = EstimateOf(run);
  EXPECT_EQ(memory.verdict, Verdict::kFits);
  EXPECT_THAT(memory.changes, IsEmpty());
  EXPECT_EQ(memory.changes_considered, 0);
}

}  // namespace
}  // namespace sextant
