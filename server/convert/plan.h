// The engine's Plan as a message.
#ifndef SEXTANT_SERVER_CONVERT_PLAN_H_
#define SEXTANT_SERVER_CONVERT_PLAN_H_

#include "engine/run/plan.h"
#include "sextant/v1/plan.pb.h"

namespace sextant::server {

// Fills `out`, which is empty, in place: it lives on the call's arena. The plan's texts move
// into it. `full`: also what only a full view has.
void PlanTo(Plan plan, bool full, v1::Plan* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_PLAN_H_
