// Legal runs that are as expensive to plan as the limits of requests allow.
#ifndef SEXTANT_TESTS_ENGINE_RUN_WORST_PLANS_H_
#define SEXTANT_TESTS_ENGINE_RUN_WORST_PLANS_H_

#include <string>
#include <vector>

#include "engine/run/run_spec.h"

namespace sextant {

struct WorstPlan {
  std::string name;
  RunSpec run;
};

// Runs at the limits of layer kinds, runs of layers, stages and chunks, under every schedule, in
// one stack and in two, trained whole and in part; each once where it fits and once where the
// search for changes runs to its end.
std::vector<WorstPlan> WorstPlans();

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_RUN_WORST_PLANS_H_
