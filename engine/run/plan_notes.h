// The assumptions and warnings of a plan, of its layout and of its costs.
#ifndef SEXTANT_ENGINE_RUN_PLAN_NOTES_H_
#define SEXTANT_ENGINE_RUN_PLAN_NOTES_H_

#include "engine/base/note.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"

namespace sextant {

// The utilisation of the textbook estimate where the request gives none.
//
// Of 133 published bf16 runs of dense models that state an MFU, the median is 0.53 and one
// in ten lies below 0.39; those are tuned benchmarks, so the default is near their low end.
// Source: tests/golden/assumed_mfu_test.py computes both figures from the published runs.
inline constexpr double kAssumedMfu = 0.4;
inline constexpr char kAssumedMfuSource[] =
    "near the low end of published dense bf16 runs (median 0.53, tenth percentile 0.39)";

// The notes of the plan of `run`, by subject: arithmetic, memory, time, economics. Warnings alone
// where its options do not ask for all.
Notes NotesOf(const RunSpec& run, const ResolvedRun& resolved);

struct Plan;

// Appends to `out` the notes on what the time of `plan` costs: interruptions, limits, money and
// energy. `plan` has its estimates.
void AppendCostNotes(const RunSpec& run, const ResolvedRun& resolved, const Plan& plan, Notes& out);

// Appends to `out` the notes on the layout of `run`, what the request leaves open and what hardly
// anyone runs. `job` is its job.
void AppendLayoutNotes(const RunSpec& run, const ResolvedRun& resolved, const MemoryJob& job,
                       Notes& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_PLAN_NOTES_H_
