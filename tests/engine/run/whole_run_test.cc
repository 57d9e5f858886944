#include "engine/run/whole_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "engine/run/plan.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/measured_runs.h"
#include "tests/engine/run/plan_parts.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

// Llama 3 70B on 64 H100s of 8 servers, 128 sequences of 8,192 tokens a step, 2^40 tokens: 2^20
// steps.
RunSpec Llama70b() {
  RunSpec run = RunOnH100s("llama-3-70b", 64, 128, 8192);
  run.training.token_count = int64_t{1} << 40;
  run.layout->parallel.tensor_parallel_size = 8;
  run.layout->parallel.pipeline_parallel_size = 4;
  run.layout->zero_stage = ZeroStage::kOptimizer;
  run.economics.device_hour_price_usd = 2;
  return run;
}

// 70e9 parameters, as a bare count, on 1,000 devices.
RunSpec Bare70b() {
  RunSpec run = OnH100s(1000, 1'000'000'000'000);
  run.model.parameter_count = 70'000'000'000;
  return run;
}

// One failure in 8 hours, and 49 s to write 14 bytes a parameter.
InterruptionSpec Failing(const RunSpec& run) {
  InterruptionSpec out;
  out.failures_per_device_hour = 0.125 / static_cast<double>(run.cluster.device_count);
  out.checkpoint_write_bytes_per_second = 20e9;
  return out;
}

// The textbook's: 980e9 bytes of a checkpoint, 140e9 of weights alone, 49 s at 20e9 bytes/s.
TEST(WholeRun, ACheckpointByHand) {
  RunSpec run = Bare70b();
  run.interruptions = Failing(run);
  const Plan plan = Planned(run);
  const CheckpointPlan& checkpoint = plan.whole_run.checkpoint;
  ASSERT_THAT(checkpoint.terms, SizeIs(4));
  EXPECT_EQ(checkpoint.terms[0].name, "weight");
  EXPECT_EQ(checkpoint.terms[0].size, Bytes(140'000'000'000));
  EXPECT_EQ(checkpoint.size, Bytes(980'000'000'000));
  EXPECT_DOUBLE_EQ(checkpoint.write->value(), 49);
  EXPECT_NEAR(checkpoint.young_interval->value(), 1680, 1e-9);
  EXPECT_EQ(plan.whole_run.interruptions.interval, checkpoint.daly_interval);
  EXPECT_EQ(checkpoint.resume_read, checkpoint.size);
  EXPECT_EQ(checkpoint.resume_read_per_device, Bytes(980'000'000));
}

// 1,000 devices at 10 MB/s each are slower than the store.
TEST(WholeRun, TheSlowerOfStoreAndDevicesWrites) {
  RunSpec run = Bare70b();
  run.interruptions = Failing(run);
  run.interruptions.device_write_bytes_per_second = 10e6;
  EXPECT_DOUBLE_EQ(Planned(run).whole_run.checkpoint.write->value(), 98);
  run.interruptions.checkpoint_write_bytes_per_second.reset();
  EXPECT_DOUBLE_EQ(Planned(run).whole_run.checkpoint.write->value(), 98);
  run.interruptions.checkpoint_read_bytes_per_second = 98e9;
  EXPECT_DOUBLE_EQ(Planned(run).whole_run.checkpoint.resume->value(), 10);
}

// Each of 2 replicas reads the weights, 2 bytes a parameter; the 12 of master weights and moments
// are divided (ZeRO stage 1). The vocabulary is padded to 129,024.
TEST(WholeRun, AResumeReadsReplicasTwice) {
  RunSpec run = Llama70b();
  run.layout->framework.kind = Framework::kMegatronLm;
  const Plan plan = Planned(run);
  const auto parameters = static_cast<double>(plan.parameters.all.total);
  const double padded = parameters + 2.0 * (129'024 - 128'256) * 8192;
  const auto read = static_cast<double>(plan.whole_run.checkpoint.resume_read.value());
  // All 8 tensor parallel ranks have the 2 x 80 + 1 norms.
  EXPECT_DOUBLE_EQ(read, (2 * 2 + 12) * (padded + 7.0 * 161 * 8192));
  EXPECT_GE(plan.whole_run.checkpoint.resume_read_per_device.value(), read / 64);
}

// Under DualPipe a device has two ends of the pipeline: 40 of 80 layers, and the outer ones the
// embedding, the head and the last norm. Of 8 tensor parallel ranks each has 106,971,136 parameters
// of a layer, norms whole, and 132,120,576 of 129,024 x 8192; all keep 2 + 12 bytes of each.
TEST(WholeRun, AResumeOfADualPipeReadsBothEnds) {
  RunSpec run = Llama70b();
  run.layout->zero_stage = ZeroStage::kNone;
  run.layout->schedule = PipelineSchedule::kDualPipe;
  const CheckpointPlan checkpoint = Planned(run).whole_run.checkpoint;
  constexpr int64_t kInner = 14 * 40 * int64_t{106'971'136};
  constexpr int64_t kOuter = kInner + 14 * (2 * int64_t{132'120'576} + 8192);
  EXPECT_EQ(checkpoint.resume_read_per_device, Bytes(kOuter));
  EXPECT_EQ(checkpoint.resume_read, Bytes(32 * (kInner + kOuter)));
}

// 6 x 70e9 x 1e12 FLOP at 0.4 of 989.4e12 on 1,000 devices: 1,061,249 s. With what stalls, 1.05 x
// that is an hour of work 309.5 times.
TEST(WholeRun, StallsAreCheckpointedToo) {
  RunSpec run = Bare70b();
  run.interruptions.checkpoint_write_bytes_per_second = 20e9;
  run.interruptions.checkpoint_interval_seconds = 3600;
  run.interruptions.stall_ratio = 0.05;
  EXPECT_EQ(*Planned(run).whole_run.checkpoint.count, 309);
}

// The largest model and the most tokens that requests allow.
TEST(WholeRun, TheLargestRunsHaveFiniteFigures) {
  RunSpec run = Bare70b();
  run.model.parameter_count = 1'000'000'000'000'000;
  run.training.token_count = 1'000'000'000'000'000'000;
  run.interruptions.checkpoint_write_bytes_per_second = 1e18;
  run.interruptions.checkpoint_interval_seconds = 1;
  const Plan plan = Planned(run);
  EXPECT_EQ(plan.whole_run.checkpoint.size, Bytes(14'000'000'000'000'000));
  EXPECT_DOUBLE_EQ(plan.whole_run.checkpoint.write->value(), 0.014);
  ASSERT_TRUE(plan.whole_run.checkpoint.count.has_value());
  EXPECT_GT(*plan.whole_run.checkpoint.count, 0);
}

TEST(WholeRun, AdaptersAloneAreWritten) {
  RunSpec run = Llama70b();
  run.layout.reset();
  run.model.changes.base_frozen = true;
  run.model.changes.adapters.emplace();
  run.model.changes.adapters->rank = 16;
  run.model.changes.adapters->targets = {{"attention", "query"}};
  const Plan plan = Planned(run);
  EXPECT_EQ(plan.whole_run.checkpoint.size, Bytes(14 * plan.parameters.all.trainable));
}

TEST(WholeRun, WithoutInterruptionsGoodputIsOne) {
  const Plan plan = Planned(Llama70b());
  EXPECT_EQ(plan.whole_run.goodput(), 1);
  for (const TimeEstimate& estimate : plan.estimates) {
    EXPECT_EQ(estimate.elapsed, estimate.duration);
    EXPECT_FALSE(estimate.deadline.has_value());
  }
  EXPECT_THAT(KindsOf(plan.notes), Contains(NoteKind::kNothingFails));
  EXPECT_FALSE(plan.whole_run.failure_count.has_value());
  EXPECT_FALSE(plan.whole_run.checkpoint.count.has_value());
}

TEST(WholeRun, FailuresOfRateZeroAreNone) {
  RunSpec run = Llama70b();
  run.interruptions.failures_per_device_hour = 0;
  const Plan plan = Planned(run);
  EXPECT_EQ(plan.whole_run.goodput(), 1);
  EXPECT_THAT(KindsOf(plan.notes), Not(Contains(NoteKind::kNothingFails)));
  EXPECT_THAT(KindsOf(plan.notes), Contains(NoteKind::kInterruptionsAssumed));
}

TEST(WholeRun, DaysTimesDevicesTimesPriceIsMoney) {
  RunSpec run = Llama70b();
  run.interruptions = Failing(run);
  run.interruptions.stall_ratio = 0.05;
  for (const TimeEstimate& estimate : Planned(run).estimates) {
    const double days = estimate.elapsed.value() / kSecondsPerDay;
    EXPECT_GT(estimate.elapsed, estimate.duration * 1.05);
    EXPECT_NEAR(estimate.cost->value(), days * 24 * 64 * 2, 1e-9 * estimate.cost->value());
    // 700 W, the datasheet's.
    EXPECT_NEAR(estimate.energy->value(), days * kSecondsPerDay * 64 * 700,
                1e-9 * estimate.energy->value());
  }
}

TEST(WholeRun, CountsStepsFailuresAndCheckpoints) {
  RunSpec run = Llama70b();
  run.interruptions = Failing(run);
  const Plan plan = Planned(run);
  const TimeEstimate predicted = At(plan, EstimateKind::kPredicted);
  EXPECT_EQ(plan.whole_run.steps->count, 1 << 20);
  EXPECT_NEAR(*plan.whole_run.failure_count, predicted.elapsed.value() / 28'800, 1e-9);
  EXPECT_EQ(*plan.whole_run.checkpoint.count,
            static_cast<int64_t>(predicted.duration.value() /
                                 plan.whole_run.interruptions.interval->value()));
  // The high end and what failures spread, and no more than a few days of it.
  EXPECT_GT(*plan.whole_run.time_limit, predicted.elapsed_high);
  EXPECT_LT(*plan.whole_run.time_limit, predicted.elapsed_high + Seconds(60 + kSecondsPerDay));
}

TEST(WholeRun, TheLastStepMayBeSmaller) {
  RunSpec run = Llama70b();
  run.training.token_count += 1;
  EXPECT_EQ(Planned(run).whole_run.steps->count, (1 << 20) + 1);
}

// 4 bytes an id, since V > 65,536. A rank gets 64 sequences of 8,192 ids of 8 bytes.
TEST(WholeRun, DataByHand) {
  const Plan plan = Planned(Llama70b());
  const DataLoading& data = *plan.whole_run.data;
  EXPECT_EQ(data.token_file, Bytes(int64_t{1} << 42));
  EXPECT_DOUBLE_EQ(data.read_rate->value(),
                   4 * At(plan, EstimateKind::kPredicted).tokens_per_second);
  EXPECT_EQ(data.device_step, Bytes(64 * 8192 * 8));
  // 64 GB/s of PCIe 5.0 x 16, of which 0.82 is reached.
  EXPECT_NEAR(data.device_copy->value(), 64 * 8192 * 8 / 51.66e9, 1e-3 * data.device_copy->value());
}

// Two devices, one at 350 TFLOP/s and one at 700.
TEST(WholeRun, TheSlowestDeviceCostsWhatTheNextWouldSave) {
  DeviceCalibration slow = MeasuredH100("GPU-slow");
  slow.matmuls.front().rate = FlopsPerSecond(350e12);
  RunSpec run = SuppliedRun(slow);
  run.cluster.device.calibrations.push_back(ModelOf(MeasuredH100("GPU-fast")));
  run.cluster.device_count = 2;
  run.economics.device_hour_price_usd = 2;
  const Plan plan = Planned(run);
  ASSERT_TRUE(plan.whole_run.slowest.has_value());
  const SlowestCost& slowest = *plan.whole_run.slowest;
  EXPECT_EQ(slowest.device.uuid, "GPU-slow");
  EXPECT_DOUBLE_EQ(slowest.device.saved_share, 0.5);
  EXPECT_EQ(slowest.saved, BasisOf(plan)->elapsed * 0.5);
  EXPECT_DOUBLE_EQ(slowest.saved_cost->value(), BasisOf(plan)->cost->value() / 2);
  EXPECT_THAT(KindsOf(plan.notes), Contains(NoteKind::kSlowestDevice));
}

TEST(WholeRun, EquallySlowDevicesSaveNothing) {
  RunSpec run = SuppliedRun(MeasuredH100("GPU-1"));
  EXPECT_FALSE(Planned(run).whole_run.slowest.has_value());
  run.cluster.device.calibrations.push_back(ModelOf(MeasuredH100("GPU-2")));
  run.cluster.device_count = 2;
  EXPECT_FALSE(Planned(run).whole_run.slowest.has_value());
}

TEST(WholeRun, MeasuredPowerComesBeforeTheDatasheets) {
  DeviceCalibration device = MeasuredH100("GPU-1");
  const Plan before = Planned(SuppliedRun(device));
  EXPECT_THAT(KindsOf(before.notes), Contains(NoteKind::kPowerLimitDrawn));
  device.matmuls.front().power_watts = 640;
  const Plan plan = Planned(SuppliedRun(device));
  EXPECT_THAT(KindsOf(plan.notes), Contains(NoteKind::kPowerMeasured));
  EXPECT_THAT(KindsOf(plan.notes), Not(Contains(NoteKind::kPowerLimitDrawn)));
  EXPECT_NEAR(plan.estimates[0].energy->value() / before.estimates[0].energy->value(), 640.0 / 700,
              1e-12);
}

TEST(WholeRun, AnIntervalOfTheRequestReplacesDalys) {
  RunSpec run = Llama70b();
  run.interruptions = Failing(run);
  const double goodput = Planned(run).whole_run.goodput();
  run.interruptions.checkpoint_interval_seconds = 7200;
  const Plan plan = Planned(run);
  EXPECT_EQ(plan.whole_run.interruptions.interval, Seconds(7200));
  EXPECT_LT(plan.whole_run.goodput(), goodput);
}

// In the background a checkpoint costs less, and is written no sooner than the last one was.
TEST(WholeRun, ABackgroundWriteStallsLess) {
  RunSpec run = Llama70b();
  run.interruptions = Failing(run);
  const double goodput = Planned(run).whole_run.goodput();
  run.interruptions.checkpoint_stall_ratio = 0;
  const Plan plan = Planned(run);
  EXPECT_GT(plan.whole_run.goodput(), goodput);
  EXPECT_EQ(plan.whole_run.interruptions.interval, plan.whole_run.checkpoint.write);
  EXPECT_EQ(plan.whole_run.elapsed.checkpoints, 0);
}

TEST(WholeRun, RefusesRunsWithoutProgress) {
  const auto expect = [](const RunSpec& run, const char* field, const char* words) {
    EXPECT_THAT(PlanRun(run).status(), HasViolation(field, HasSubstr(words)));
  };
  RunSpec run = Bare70b();
  run.interruptions = Failing(run);
  run.interruptions.failures_per_device_hour = 3600;
  expect(run, "interruptions.failures_per_device_hour", "before a checkpoint of 49 s is written");
  expect(run, "interruptions.checkpoint_write_bytes_per_second", "give fewer failures");
  run.interruptions = Failing(run);
  run.interruptions.restart_seconds = 30 * kSecondsPerDay;
  expect(run, "interruptions.failures_per_device_hour", "less than 1 %");
  run.interruptions = Failing(run);
  run.interruptions.checkpoint_stall_ratio = 0.1;
  run.interruptions.checkpoint_interval_seconds = 10;
  expect(run, "interruptions.checkpoint_interval", "at least 44.1 s");
  run.interruptions = {};
  run.interruptions.checkpoint_write_bytes_per_second = 1;
  run.interruptions.checkpoint_interval_seconds = 3600;
  expect(run, "interruptions.checkpoint_interval", "stalls it for 9.8e+11 s");
  run.interruptions = {};
  run.interruptions.failures_per_device_hour = 1e-5;
  expect(run, "interruptions.checkpoint_write_bytes_per_second", "is required");
}

TEST(WholeRun, RefusesFiguresOutOfRange) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  using Spec = InterruptionSpec;
  const std::pair<const char*, absl::optional<double> Spec::*> fields[] = {
      {"failures_per_device_hour", &Spec::failures_per_device_hour},
      {"restart_duration", &Spec::restart_seconds},
      {"checkpoint_interval", &Spec::checkpoint_interval_seconds}};
  for (const auto& [name, field] : fields) {
    for (const double bad : {-1.0, 1e30, inf, nan}) {
      RunSpec run = Bare70b();
      run.interruptions.*field = bad;
      EXPECT_THAT(PlanRun(run).status(),
                  HasViolation(std::string("interruptions.") + name, HasSubstr("must be")))
          << bad;
    }
  }
  RunSpec run = Bare70b();
  run.interruptions.failures_per_device_hour = 1e-13;
  EXPECT_THAT(PlanRun(run).status(),
              HasViolation("interruptions.failures_per_device_hour", HasSubstr("write 0")));
  run.interruptions = {};
  run.economics.budget_usd = 1e6;
  EXPECT_THAT(PlanRun(run).status(), HasViolation("economics.budget_usd", HasSubstr("price")));
  run.economics.device_hour_price_usd = 2;
  run.economics.budget_usd.reset();
  run.economics.seconds_to_deadline = -5;
  EXPECT_THAT(PlanRun(run).status(), HasViolation("economics.deadline", HasSubstr("after")));
}

// Meta 2024 (arXiv 2407.21783) section 3.3.4: 419 unexpected interruptions of 16,384 GPUs in 54
// days, one in 3.1 hours.
TEST(WholeRun, MetasInterruptionsOf16384Gpus) {
  RunSpec run = Llama70b();
  run.cluster.device_count = 16'384;
  run.layout->global_batch_size = 2048;
  run.interruptions.failures_per_device_hour = 419.0 / (54 * 24 * 16'384);
  run.interruptions.checkpoint_write_bytes_per_second = 1e12;
  const Plan plan = Planned(run);
  EXPECT_NEAR(plan.whole_run.interruptions.between_failures->value() / 3600, 3.093, 1e-3);
}

}  // namespace
}  // namespace sextant
