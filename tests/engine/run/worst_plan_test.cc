// The work of a plan is bounded for every legal request, and ends soon after it is to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/string_view.h"
#include "engine/base/call_work.h"
#include "engine/run/plan.h"
#include "tests/engine/run/h100_runs.h"
#include "tests/engine/run/measured_runs.h"
#include "tests/engine/run/worst_plans.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

// Counts the steps between two questions whether to go on, and ends the work at one of them.
class Stopper {
 public:
  explicit Stopper(int64_t questions = -1) : left_(questions) {}

  absl::Status Ask() {
    if (work_ != nullptr) {
      longest_ = std::max(longest_, work_->steps() - last_);
      last_ = work_->steps();
    }
    if (left_-- == 0) return absl::CancelledError("stopped");
    return absl::OkStatus();
  }
  void Watch(const CallWork& work) { work_ = &work; }
  int64_t longest() const { return longest_; }
  int64_t last() const { return last_; }

 private:
  const CallWork* work_ = nullptr;
  int64_t left_;
  int64_t last_ = 0;
  int64_t longest_ = 0;
};

// The word of `text` that follows `before`.
absl::string_view After(absl::string_view text, absl::string_view before) {
  const size_t at = text.find(before);
  if (at == absl::string_view::npos) return "";
  text.remove_prefix(at + before.size());
  return text.substr(0, text.find(','));
}

// The steps of one chunk that has layers of all kinds that a model may have: less than a
// millisecond.
constexpr int64_t kMaxStepsUnasked = 80'000;
// The step of a pipeline that is simulated, for itself and its sensitivities: up to 16 ms.
constexpr int64_t kMaxStepsOfAStep = 2'000'000;

int64_t MaxUnasked(const RunSpec& run) {
  return run.cluster.node_type.empty() ? kMaxStepsUnasked : kMaxStepsOfAStep;
}

// A phase is refused once it is predicted: all stages, and 128 kinds of layers.
constexpr int64_t kMaxStepsOfAPhase = 3'000'000;

TEST(WorstPlans, KeepToTheBound) {
  for (const WorstPlan& worst : WorstPlans()) {
    Stopper stopper;
    const auto ask = [&stopper] { return stopper.Ask(); };
    CallWork work(ask);
    stopper.Watch(work);
    const auto plan = PlanRun(worst.run, {}, work);
    if (worst.run.layout->batch_ramp.empty() || plan.ok()) {
      ASSERT_THAT(plan, IsOk()) << worst.name;
      EXPECT_LE(work.steps(), kMaxPlanSteps) << worst.name;
    } else {
      EXPECT_THAT(plan.status(),
                  HasViolation("layout.batch_ramp", HasSubstr("which take too long to predict")))
          << worst.name;
      EXPECT_LE(work.steps(), kMaxPlanSteps + kMaxStepsOfAPhase) << worst.name;
    }
    EXPECT_LE(stopper.longest(), MaxUnasked(worst.run)) << worst.name;
  }
}

TEST(WorstPlans, EndWhereverTheyAreStopped) {
  for (const WorstPlan& worst : WorstPlans()) {
    for (const int64_t questions : {0, 1, 2, 5, 20, 200}) {
      Stopper stopper(questions);
      const auto ask = [&stopper] { return stopper.Ask(); };
      CallWork work(ask);
      stopper.Watch(work);
      const auto plan = PlanRun(worst.run, {}, work);
      if (plan.ok()) continue;  // it was done before
      EXPECT_EQ(plan.status().code(), absl::StatusCode::kCancelled) << worst.name;
      EXPECT_LE(work.steps() - stopper.last(), MaxUnasked(worst.run)) << worst.name;
    }
  }
}

// Stages are timed once for all phases: each step is that of a plan with its batch alone. The last
// run's operations depend on the number of micro-batches, whose first has gradients of its own.
TEST(WorstPlans, PredictPhasesLikePlansOfTheirOwn) {
  RunSpec base = RunOnH100s("llama-3-70b", 64, 128, 8192);
  base.training.token_count = int64_t{1} << 40;
  base.layout->parallel.tensor_parallel_size = 8;
  base.layout->parallel.pipeline_parallel_size = 4;
  std::vector<RunSpec> runs(4, base);
  runs[1].layout->schedule = PipelineSchedule::kDualPipe;
  runs[2].layout->parallel.layers_per_chunk = {11, 29, 20, 20};
  runs[3].layout->framework = {.kind = Framework::kPytorchFsdp, .named = true};
  runs[3].training.precision.gradient_data_type = DataType::kBf16;
  for (RunSpec& run : runs) {
    run.layout->batch_ramp = {{1000, 256}, {1000, 128}, {1000, 256}, {1000, 512}};
    const auto plan = PlanRun(run);
    ASSERT_THAT(plan, IsOk());
    ASSERT_EQ(plan->whole_run.steps->phases.size(), 5);
    for (size_t i = 0; i < run.layout->batch_ramp.size(); ++i) {
      RunSpec alone = run;
      alone.layout->batch_ramp.clear();
      alone.layout->global_batch_size = run.layout->batch_ramp[i].global_batch_size;
      EXPECT_EQ(plan->whole_run.steps->phases[i].step,
                PlanRun(alone)->step->estimate.seconds.expected);
    }
  }
}

// A ramp that is too long for its stages is refused with the number of phases that can be
// predicted, and that number is planned.
TEST(WorstPlans, SayHowManyPhasesCanBePredicted) {
  RunSpec run = TimedWorstPlan();
  run.layout->batch_ramp.assign(
      kMaxBatchPhases,
      {.token_count = 1'000'000, .global_batch_size = *run.layout->global_batch_size});
  int64_t batch = 0;
  for (BatchPhase& phase : run.layout->batch_ramp) {
    phase.global_batch_size *= ++batch;
  }
  // Gradients that are the first micro-batch's own, so that every phase is timed anew.
  run.training.precision.gradient_data_type = DataType::kBf16;
  const absl::Status refused = PlanRun(run).status();
  ASSERT_THAT(refused, HasViolation("layout.batch_ramp", HasSubstr("has 256 phases")));
  int most = 0;
  ASSERT_TRUE(absl::SimpleAtoi(After(refused.message(), "give at most "), &most)) << refused;
  run.layout->batch_ramp.resize(static_cast<size_t>(most));
  EXPECT_THAT(PlanRun(run), IsOk());
  run.layout->batch_ramp.push_back(run.layout->batch_ramp.back());
  run.layout->batch_ramp.back().global_batch_size *= 2;
  EXPECT_THAT(PlanRun(run).status(), HasViolation("layout.batch_ramp", HasSubstr("phases")));
}

// Likewise of devices, each of which is predicted.
TEST(WorstPlans, SayOnHowManyDevicesTheyCanBePredicted) {
  RunSpec run = TimedWorstPlan();
  run.cluster.device = {};
  for (int i = 0; i < kMaxNamedDevices; ++i) {
    run.cluster.device.devices.push_back(DeviceOf(MeasuredH100(absl::StrCat("GPU-", i))));
  }
  const absl::Status refused = PlanRun(run).status();
  ASSERT_THAT(refused,
              HasViolation("cluster.device.host_devices.devices", HasSubstr("has 64 devices")));
  int most = 0;
  ASSERT_TRUE(absl::SimpleAtoi(After(refused.message(), "give at most "), &most)) << refused;
  run.cluster.device.devices.resize(static_cast<size_t>(most));
  EXPECT_THAT(PlanRun(run), IsOk());
}

// The largest layouts in use, in ramps of as many phases as there may be; on 64 stages with uneven
// layers, whose micro-batches come to no steady state, of 64.
TEST(WorstPlans, AreNoneOfLargeLayouts) {
  using worst_plans::RunOf;
  constexpr int kPhases = kMaxBatchPhases;
  std::vector<RunSpec> runs = {
      RunOf(
          {.kinds = 4, .runs = 64, .layers = 128, .stages = 128, .timed = true, .phases = kPhases},
          true),
      RunOf({.kinds = 4,
             .runs = 64,
             .layers = 1024,
             .stages = 128,
             .virtual_stages = 8,
             .timed = true,
             .phases = kPhases},
            true),
      RunOf({.kinds = 4,
             .runs = 64,
             .layers = 98,
             .stages = 16,
             .uneven = true,
             .timed = true,
             .phases = kPhases},
            true),
      RunOf({.kinds = 4,
             .runs = 64,
             .layers = 1024,
             .stages = 64,
             .uneven = true,
             .timed = true,
             .phases = 64},
            true)};
  for (const RunSpec& run : runs) {
    CallWork work;
    EXPECT_THAT(PlanRun(run, {}, work), IsOk());
    EXPECT_LT(work.steps(), kMaxPlanSteps);
  }
}

// The search for changes goes to its end for models as they are.
TEST(WorstPlans, AreNoneOfPublishedModels) {
  for (const char* preset : {"llama-3.1-70b", "deepseek-v3", "gemma-2-27b"}) {
    RunSpec run;
    run.model.preset = preset;
    run.layout.emplace();
    run.training.token_count = 1'000'000'000'000;
    run.training.sequence_length = 1 << 18;
    run.cluster.device.accelerator = "h100-sxm";
    run.cluster.device_count = 1024;
    run.cluster.device_memory_bytes = int64_t{1} << 30;
    CallWork work;
    const auto plan = PlanRun(run, {}, work);
    ASSERT_THAT(plan, IsOk()) << preset;
    EXPECT_FALSE(plan->memory_estimate->search_ended_early) << preset;
    EXPECT_GT(plan->memory_estimate->changes_considered, 100) << preset;
    EXPECT_LT(work.steps(), kMaxSearchSteps / 2) << preset;
  }
}

TEST(WorstPlans, SayWhereTheSearchEnded) {
  const std::vector<WorstPlan> plans = WorstPlans();
  const auto worst = std::find_if(plans.begin(), plans.end(), [](const WorstPlan& plan) {
    return plan.name == "one stage, does not fit";
  });
  ASSERT_NE(worst, plans.end());
  const auto plan = PlanRun(worst->run);
  ASSERT_THAT(plan, IsOk());
  EXPECT_TRUE(plan->memory_estimate->search_ended_early);
}

// A list of as many rows as chunks and layers would make is refused before it is whole.
TEST(WorstPlans, ListNoMoreRowsThanAnAnswerTakes) {
  for (WorstPlan& worst : WorstPlans()) {
    worst.run.options.include_ledger = true;
    CallWork work;
    const auto plan = PlanRun(worst.run, {}, work);
    EXPECT_LE(work.steps(), kMaxPlanSteps + kMaxStepsOfAPhase) << worst.name;
    if (plan.ok()) continue;
    EXPECT_THAT(std::string(plan.status().message()),
                AnyOf(HasSubstr("options.include_ledger"), HasSubstr("layout.batch_ramp")));
  }
}

}  // namespace
}  // namespace sextant
