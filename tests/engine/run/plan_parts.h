// Parts of a plan, for tests that look at one of them.
#ifndef SEXTANT_TESTS_ENGINE_RUN_PLAN_PARTS_H_
#define SEXTANT_TESTS_ENGINE_RUN_PLAN_PARTS_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/run/plan.h"

namespace sextant {

// The plan's estimate of that kind; a failure, and an empty one, where there is none.
inline TimeEstimate At(const Plan& plan, EstimateKind kind) {
  const TimeEstimate* const found = plan.estimate(kind);
  if (found == nullptr) ADD_FAILURE() << "no estimate " << EstimateKindName(kind);
  return found == nullptr ? TimeEstimate() : *found;
}

inline double DaysOf(const TimeEstimate& estimate) {
  return estimate.duration.value() / kSecondsPerDay;
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
