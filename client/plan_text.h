// A plan for people.
#ifndef SEXTANT_CLIENT_PLAN_TEXT_H_
#define SEXTANT_CLIENT_PLAN_TEXT_H_

#include <string>

#include "absl/time/time.h"
#include "sextant/v1/planning_service.pb.h"

namespace sextant {

// The plan in `response`, headline first; measured rates are as old as they are at `now`.
std::string PlanText(const v1::PlanRunResponse& response, absl::Time now);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_PLAN_TEXT_H_
