// The cost of a graph's training step, for people.
#ifndef SEXTANT_CLIENT_REPORT_GRAPH_TEXT_H_
#define SEXTANT_CLIENT_REPORT_GRAPH_TEXT_H_

#include <string>

#include "sextant/v1/accounting_service.pb.h"

namespace sextant::client {

// The sums first, then operations, saved arrays, and the peak of memory; kernel by kernel where the
// answer holds kernels.
std::string GraphText(const v1::AnalyzeGraphResponse& response);

}  // namespace sextant::client

#endif  // SEXTANT_CLIENT_REPORT_GRAPH_TEXT_H_
