// What is estimated beside what is counted.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_RESERVE_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_RESERVE_H_

#include "absl/status/statusor.h"
#include "engine/memory/ledger/job_spec.h"
#include "engine/memory/ledger/stage_memory.h"
#include "engine/memory/ledger_row.h"

namespace sextant {

// `memory` with its sums but the reserve's, and the reserve:
//
//   allocated = (all that is counted + workspace) (1 + uncounted)
//   reserved  = allocated (1 + fragmentation)
//   process   = reserved + context + communicators
//
// each at its low, expected and high end.
//
// Errors: kInvalidArgument "layout" where a sum exceeds 9.2e18 bytes.
absl::StatusOr<StageMemory> AddReserve(const ReserveSpec& reserve, StageMemory memory);

// Appends the rows of the reserve of `memory`, at its expected size.
void AppendReserveRows(const ReserveSpec& reserve, const StageMemory& memory, LedgerRows& rows);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_RESERVE_H_
