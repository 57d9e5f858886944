// The notes of a plan on its layout: what the request leaves open, and what hardly anyone runs.
#ifndef SEXTANT_ENGINE_RUN_LAYOUT_NOTES_H_
#define SEXTANT_ENGINE_RUN_LAYOUT_NOTES_H_

#include "engine/base/note.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/run/resolve.h"
#include "engine/run/run_spec.h"

namespace sextant {

// Appends them to `out`. `run` has a layout, and `job` is its job.
void AppendLayoutNotes(const RunSpec& run, const ResolvedRun& resolved, const MemoryJob& job,
                       Notes& out);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_LAYOUT_NOTES_H_
