// The memory of a graph's training step, for people.
#ifndef SEXTANT_CLIENT_GRAPH_MEMORY_TEXT_H_
#define SEXTANT_CLIENT_GRAPH_MEMORY_TEXT_H_

#include <string>

#include "sextant/v1/accounting_service.pb.h"

namespace sextant {

// What is saved and the peak, in a line each: of everything saved and, where segments are
// checkpointed, of that.
std::string MemorySummary(const v1::AnalyzeGraphResponse& response);

// What is saved and for whom, and what is there at the peak.
std::string MemoryText(const v1::AnalyzeGraphResponse& response);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_GRAPH_MEMORY_TEXT_H_
