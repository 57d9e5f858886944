// The work of a plan is bounded for every legal request, and ends soon after it is to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/call_work.h"
#include "engine/run/plan.h"
#include "tests/engine/run/worst_plans.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

// The limits of requests allow no plan with more steps: one choice evaluated for the answer, a
// search, and the last choice of that.
constexpr int64_t kMaxPlanSteps = 5'000'000;

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

// The steps of one chunk that has layers of all kinds that a model may have: less than a
// millisecond.
constexpr int64_t kMaxStepsUnasked = 80'000;

TEST(WorstPlans, KeepToTheBound) {
  for (const WorstPlan& worst : WorstPlans()) {
    Stopper stopper;
    const auto ask = [&stopper] { return stopper.Ask(); };
    CallWork work(ask);
    stopper.Watch(work);
    const auto plan = PlanRun(worst.run, {}, work);
    ASSERT_THAT(plan, IsOk()) << worst.name;
    EXPECT_LE(work.steps(), kMaxPlanSteps) << worst.name;
    EXPECT_LE(stopper.longest(), kMaxStepsUnasked) << worst.name;
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
      EXPECT_LE(work.steps() - stopper.last(), kMaxStepsUnasked) << worst.name;
    }
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
    run.cluster.device_memory_bytes = kMinDeviceMemoryBytes;
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
    EXPECT_LE(work.steps(), kMaxPlanSteps) << worst.name;
    if (plan.ok()) continue;
    EXPECT_THAT(std::string(plan.status().message()), HasSubstr("options.include_ledger"));
  }
}

}  // namespace
}  // namespace sextant
