// What a graph's training step costs, for people.
#ifndef SEXTANT_CLIENT_GRAPH_TEXT_H_
#define SEXTANT_CLIENT_GRAPH_TEXT_H_

#include <string>

#include "sextant/v1/accounting_service.pb.h"

namespace sextant {

// The sums first, then operations, what is saved, and the peak of memory. Kernel by kernel too
// where the answer holds that.
std::string GraphText(const v1::AnalyzeGraphResponse& response);

}  // namespace sextant

#endif  // SEXTANT_CLIENT_GRAPH_TEXT_H_
