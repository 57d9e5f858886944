// A plan counts the weights of its model once, whatever else it predicts of it.
#include <gtest/gtest.h>

#include <cstdint>

#include "engine/run/plan.h"
#include "engine/run/resolve.h"
#include "tests/engine/run/worst_plans.h"
#include "tests/support/live_bytes.h"

namespace sextant {
namespace {

int64_t AllocationsOf(const RunSpec& run) {
  const int64_t before = AllocationCount();
  const auto plan = PlanRun(run);
  EXPECT_TRUE(plan.ok()) << plan.status();
  EXPECT_TRUE(!plan.ok() || plan->step.has_value());
  return AllocationCount() - before;
}

TEST(PlanAllocations, OfAMeasuredStepAndARampAreNotThoseOfAnotherModel) {
  const RunSpec run =
      worst_plans::RunOf({.runs = kMaxLayerKinds, .layers = kMaxLayerKinds, .timed = true}, true);
  RunSpec more = run;
  more.measured_step = MeasuredStep{.seconds = 1e5, .layout = *run.layout};
  const int64_t batch = *run.layout->global_batch_size;
  more.layout->batch_ramp.assign(4, {.token_count = 1'000'000, .global_batch_size = batch});
  const int64_t before = AllocationCount();
  ASSERT_TRUE(Resolve(run, {}).ok());
  const int64_t resolved = AllocationCount() - before;
  const int64_t alone = AllocationsOf(run);
  const int64_t all = AllocationsOf(more);
  printf("resolve %ld alone %ld all %ld\n", resolved, alone, all);
  EXPECT_LT(all - alone, resolved);
}

}  // namespace
}  // namespace sextant
