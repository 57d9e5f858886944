// Budgets of compute, for tests.
#ifndef SEXTANT_TESTS_ENGINE_SEARCH_BUDGETS_H_
#define SEXTANT_TESTS_ENGINE_SEARCH_BUDGETS_H_

#include <gtest/gtest.h>

#include "engine/search/allocate_compute.h"
#include "tests/engine/run/measured_runs.h"
#include "tests/support/status_matchers.h"

namespace sextant {

inline constexpr double kWeek = 7 * 86400;

inline AllocationSpec OfFlops(double flops) { return {.flops = flops}; }

// 8 H100s for a week at half of their datasheet's peak.
inline AllocationSpec OfH100s() {
  AllocationSpec out = {.devices_given = true, .duration_seconds = kWeek};
  out.run.cluster.device.accelerator = "h100-sxm";
  out.run.cluster.device_count = 8;
  out.run.options.assumed_mfu = 0.5;
  return out;
}

inline AllocationSpec OfMeasured(const DeviceCalibration& calibration, int64_t device_count) {
  AllocationSpec out = {.devices_given = true, .duration_seconds = 1000};
  out.run.cluster = SuppliedRun(calibration).cluster;
  out.run.cluster.device_count = device_count;
  return out;
}

inline ComputeAllocation Answer(const AllocationSpec& spec) {
  auto answer = AllocateCompute(spec, {});
  EXPECT_THAT(answer, IsOk());
  return answer.value_or(ComputeAllocation());
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_SEARCH_BUDGETS_H_
