// The plan of a run of which the time of a step is known.
#ifndef SEXTANT_TESTS_ENGINE_TIME_PLANNED_STEP_H_
#define SEXTANT_TESTS_ENGINE_TIME_PLANNED_STEP_H_

#include <gtest/gtest.h>

#include <utility>

#include "engine/run/plan.h"
#include "tests/support/status_matchers.h"

namespace sextant {

inline Plan Planned(const RunSpec& run) {
  absl::StatusOr<Plan> plan = PlanRun(run);
  EXPECT_THAT(plan, IsOk());
  EXPECT_TRUE(plan.ok() && plan->step.has_value());
  return plan.ok() ? *std::move(plan) : Plan();
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_TIME_PLANNED_STEP_H_
