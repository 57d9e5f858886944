// The notes of a plan on what its time costs: interruptions, limits, money and energy.
#ifndef SEXTANT_ENGINE_RUN_COST_NOTES_H_
#define SEXTANT_ENGINE_RUN_COST_NOTES_H_

#include "engine/base/note.h"
#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"

namespace sextant {

struct Plan;

// Appends them to `out`. `plan` has its estimates.
void AppendCostNotes(const RunSpec& run, const ResolvedRun& resolved, const Plan& plan, Notes& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_COST_NOTES_H_
