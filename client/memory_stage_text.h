// Memory by pipeline stage as tables.
#ifndef SEXTANT_CLIENT_MEMORY_STAGE_TEXT_H_
#define SEXTANT_CLIENT_MEMORY_STAGE_TEXT_H_

#include <string>

#include "sextant/v1/memory.pb.h"

namespace sextant {

// "61.20 GiB (58.90 to 64.03) of 79.00 GiB usable on stage 0, which holds the most": the stage
// with the peak.
std::string PeakText(const v1::MemoryEstimate& estimate);

// "17.80 GiB (14.97 to 20.10) to spare", or how much is missing.
std::string HeadroomText(const v1::BytesInterval& headroom);

// A line a stage, or run of equal ones: what it has to work on, and when it holds the most.
std::string StageWorkTable(const v1::MemoryEstimate& estimate);

// A line a stage, or run of equal ones: what each GPU holds then, in GiB; each adds up.
std::string StageMemoryTable(const v1::MemoryEstimate& estimate);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_MEMORY_STAGE_TEXT_H_
