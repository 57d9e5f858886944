// A plan counts the weights of its model once, whatever else it predicts of it.
#include <gtest/gtest.h>

#include <cstdint>

#include "engine/run/plan.h"
#include "engine/run/resolve.h"
#include "tests/engine/run/worst_plans.h"
#include "tests/support/live_bytes.h"

namespace sextant {
namespace {

template <typename Call>
int64_t AllocationsOf(const Call& call) {
  const int64_t before = AllocationCount();
  const auto result = call();
  EXPECT_TRUE(result.ok()) << result.status();
  return AllocationCount() - before;
}

TEST(PlanAllocations, OfAMeasuredStepAndARampAreNotThoseOfAnotherModel) {
  const RunSpec run = worst_plans::RunOf(
      {.runs = kMaxLayerKinds, .layers = kMaxLayerKinds, .timed = true}, true);
  RunSpec more = run;
  more.measured_step = MeasuredStep{.seconds = 1e5, .layout = *run.layout};
  const int64_t batch = *run.layout->global_batch_size;
  more.layout->batch_ramp.assign(4, {.token_count = 1'000'000, .global_batch_size = batch});
  ASSERT_TRUE(PlanRun(more).ok());  // what is made once in a process
  const int64_t resolved = AllocationsOf([&] { return Resolve(run, {}); });
  const auto base = Resolve(run, {});
  const int64_t with = AllocationsOf([&] { return base->With(run, {true?false:false, true, true, true}); });
  CallWork work;
  const int64_t step = AllocationsOf([&] { return PlanStep(run, *base, work); });
  const int64_t alone = AllocationsOf([&] { return PlanRun(run); });
  const int64_t all = AllocationsOf([&] { return PlanRun(more); });
  printf("resolve %ld with %ld step %ld alone %ld all %ld\n", resolved, with, step, alone, all);
  EXPECT_LT(all - alone, resolved);
}

}  // namespace
}  // namespace sextant
