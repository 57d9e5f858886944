// The engine's Plan as a message, and its memory under a layout.
#ifndef SEXTANT_SERVER_CONVERT_PLAN_H_
#define SEXTANT_SERVER_CONVERT_PLAN_H_

#include "engine/run/memory_estimate.h"
#include "engine/run/plan.h"
#include "sextant/v1/memory.pb.h"
#include "sextant/v1/plan.pb.h"

namespace sextant::server {

// Fills `out`, which is empty. The estimate's texts move into it.
void MemoryEstimateTo(MemoryEstimate estimate, v1::MemoryEstimate* out);

// Fills `out`, which is empty, in place: it lives on the call's arena. The plan's texts move
// into it.
void PlanTo(Plan plan, v1::Plan* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_PLAN_H_
