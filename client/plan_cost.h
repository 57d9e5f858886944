// The section of a plan that says what the run costs. Starts with an empty line and its
// title.
#ifndef SEXTANT_CLIENT_PLAN_COST_H_
#define SEXTANT_CLIENT_PLAN_COST_H_

#include <string>

#include "sextant/v1/plan.pb.h"

namespace sextant {

// The bounds and the estimate that the plan has, side by side.
std::string CostSection(const v1::Plan& plan);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_PLAN_COST_H_
