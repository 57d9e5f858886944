// Runs under a layout, for tests of plans.
#ifndef SEXTANT_TESTS_ENGINE_RUN_LAYOUT_RUNS_H_
#define SEXTANT_TESTS_ENGINE_RUN_LAYOUT_RUNS_H_

#include <gtest/gtest.h>

#include "engine/run/plan.h"
#include "tests/support/status_matchers.h"

namespace sextant {

inline RunSpec Llama70b() {
  RunSpec run;
  run.model.preset = "llama-3.1-70b";
  run.training.token_count = 1'000'000'000'000;
  run.training.sequence_length = 8192;
  run.cluster.device.accelerator = "h100-sxm";
  run.cluster.device_count = 64;
  run.layout = RunLayout{};
  run.layout->parallel.tensor_parallel_size = 8;
  run.layout->parallel.pipeline_parallel_size = 4;
  run.layout->global_batch_size = 64;
  return run;
}

inline MemoryEstimate EstimateOf(const RunSpec& run) {
  const auto plan = PlanRun(run);
  EXPECT_THAT(plan, IsOk());
  return plan.ok() ? *plan->memory_estimate : MemoryEstimate();
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_RUN_LAYOUT_RUNS_H_
