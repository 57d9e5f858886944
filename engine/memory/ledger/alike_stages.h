// Which stages of a pipeline hold the same, but for how many micro-batches.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_ALIKE_STAGES_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_ALIKE_STAGES_H_

#include <vector>

#include "engine/memory/ledger/job_spec.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/sharding/layer_placement.h"

namespace sextant {

// By stage: whether its StageContent is that of the stage before it. What says no is only slower:
// a model with two stacks, and one with frozen parts, has no stages alike.
std::vector<bool> AlikeStages(const ArchitectureSpec& spec, const JobSpec& job,
                              const LayerPlacement& placement);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_ALIKE_STAGES_H_
