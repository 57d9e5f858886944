// Memory of a run under a layout, as a message.
#ifndef SEXTANT_SERVER_CONVERT_MEMORY_ESTIMATE_H_
#define SEXTANT_SERVER_CONVERT_MEMORY_ESTIMATE_H_

#include "engine/run/memory_estimate.h"
#include "sextant/v1/memory.pb.h"

namespace sextant {

// Fills `out`, which is empty. The estimate's texts move into it.
void MemoryEstimateTo(MemoryEstimate estimate, v1::MemoryEstimate* out);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_MEMORY_ESTIMATE_H_
