// The assumptions and warnings of a plan, of its layout and of its costs.
#ifndef SEXTANT_ENGINE_RUN_PLAN_NOTES_H_
#define SEXTANT_ENGINE_RUN_PLAN_NOTES_H_

#include "engine/base/note.h"
#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"
#include "engine/run/whole_run.h"

namespace sextant {

// The notes of the plan of `run`, by subject: arithmetic, memory, time, economics. Warnings alone
// where its options do not ask for all.
Notes NotesOf(const RunSpec& run, const ResolvedRun& resolved);

// Its part on time.
void AppendTimeNotes(const RunSpec& run, const ResolvedRun& resolved, Notes& out);

// Appends to `out` the notes on what is assumed of costs: interruptions, money and energy.
void AppendCostNotes(const RunSpec& run, const ResolvedRun& resolved, Notes& out);

// Appends to `out` the notes on what a plan found of its time: limits that `basis`, the estimate to
// plan by, misses, and a device for which the others wait.
void AppendResultNotes(const TimeEstimate& basis, const WholeRun& whole, Notes& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_PLAN_NOTES_H_
