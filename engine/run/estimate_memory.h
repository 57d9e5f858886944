// Memory of a run under its layout.
#ifndef SEXTANT_ENGINE_RUN_ESTIMATE_MEMORY_H_
#define SEXTANT_ENGINE_RUN_ESTIMATE_MEMORY_H_

#include "absl/status/statusor.h"
#include "engine/base/units.h"
#include "engine/memory/ledger/memory_model.h"
#include "engine/run/job.h"
#include "engine/run/memory_estimate.h"

namespace sextant {

// The most rows that an answer's ledgers have, all stages together: some 4 MB.
inline constexpr int64_t kMaxLedgerRows = 10'000;

struct EstimateInput {
  const JobContext& context;
  const JobChoice& choice;
  const MemoryModel& model;  // of the choice's job
  Bytes usable;              // of a device; at least 1
  bool include_ledger = false;
};

// Every stage at its peak, the verdict, and what to change where it isn't FITS.
//
// Errors: kInvalidArgument "options.include_ledger" beyond kMaxLedgerRows; those of MemoryModel.
absl::StatusOr<MemoryEstimate> EstimateMemory(const EstimateInput& input);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_ESTIMATE_MEMORY_H_
