// Memory of a run under a layout, stage by stage, whether it fits, and what would make it fit.
#ifndef SEXTANT_ENGINE_RUN_MEMORY_ESTIMATE_H_
#define SEXTANT_ENGINE_RUN_MEMORY_ESTIMATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "engine/memory/ledger/stage_memory.h"
#include "engine/memory/ledger_row.h"

namespace sextant {

enum class Verdict {
  kFits,        // even at the high end of what is estimated
  kTight,       // whether it does lies within what is estimated
  kDoesNotFit,  // not even at the low end
};

struct StageEstimate {
  StageMemory memory;
  std::vector<int64_t> micro_batches_in_flight;  // by chunk
  int64_t layer_count = 0;
  int64_t parameter_count = 0;  // before data parallel ranks share them out
  LedgerRows ledger;            // empty unless asked for
};

// One setting that a change makes other, in the words of the request.
struct ChangedSetting {
  std::string field;  // "layout.micro_batch_size"
  std::string from;
  std::string to;
};

struct FittingChange {
  std::vector<ChangedSetting> settings;  // one, or two
  std::string cost;                      // of each, in words
  BytesInterval process = {};            // of the stage with the peak
};

struct MemoryEstimate {
  std::vector<StageEstimate> stages;
  std::vector<std::string> layer_kinds;  // names, by LedgerRow::layer_kind
  int64_t peak_stage = 0;
  Bytes usable = Bytes(0);  // of a device
  Verdict verdict = Verdict::kFits;
  int64_t data_parallel_size = 1;
  int64_t micro_batch_count = 1;
  std::vector<FittingChange> changes;
  int64_t changes_considered = 0;
  std::vector<std::string> assumptions;

  const StageMemory& peak() const { return stages[static_cast<size_t>(peak_stage)].memory; }
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_RUN_MEMORY_ESTIMATE_H_
