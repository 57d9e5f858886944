// Plans, and parts of them, for tests.
#ifndef SEXTANT_TESTS_ENGINE_RUN_PLAN_PARTS_H_
#define SEXTANT_TESTS_ENGINE_RUN_PLAN_PARTS_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "engine/run/plan.h"
#include "tests/support/status_matchers.h"

namespace sextant {

// A failure, and an empty plan, where there is none. Points into `run`, which outlives it.
inline Plan Planned(const RunSpec& run) {
  absl::StatusOr<Plan> plan = PlanRun(run);
  EXPECT_THAT(plan, IsOk());
  return plan.ok() ? *std::move(plan) : Plan();
}

// The same of a run of which the time of a step is known.
inline Plan PlannedStep(const RunSpec& run) {
  Plan plan = Planned(run);
  EXPECT_TRUE(plan.step.has_value());
  return plan;
}

// The memory of a run under a layout.
inline MemoryEstimate EstimateOf(const RunSpec& run) {
  return Planned(run).memory_estimate.value_or(MemoryEstimate());
}

// The plan's estimate of that kind; a failure, and an empty one, where there is none.
inline TimeEstimate At(const Plan& plan, EstimateKind kind) {
  const TimeEstimate* const found = plan.estimate(kind);
  if (found == nullptr) ADD_FAILURE() << "no estimate " << EstimateKindName(kind);
  return found == nullptr ? TimeEstimate() : *found;
}

inline double DaysOf(const TimeEstimate& estimate) {
  return estimate.duration.value() / kSecondsPerDay;
}

// A failure where the plan has no such rate, or note.
inline Rate RateOf(const Plan& plan, absl::string_view quantity) {
  for (const Rate& rate : plan.rates) {
    if (rate.quantity == quantity) return rate;
  }
  ADD_FAILURE() << "no rate " << quantity;
  return {};
}

inline Note NoteOf(const Plan& plan, NoteKind kind) {
  for (const Note& note : plan.notes) {
    if (note.kind == kind) return note;
  }
  ADD_FAILURE() << "no such note";
  return {kind, ""};
}

inline std::vector<std::string> TextsOf(const Notes& notes) {
  std::vector<std::string> out;
  for (const Note& note : notes) out.push_back(note.text);
  return out;
}

inline std::vector<NoteKind> KindsOf(const Notes& notes) {
  std::vector<NoteKind> out;
  for (const Note& note : notes) out.push_back(note.kind);
  return out;
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_RUN_PLAN_PARTS_H_
