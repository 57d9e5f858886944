// A graph of operations from the wire, and its analysis, memory included, as an answer.
#ifndef SEXTANT_SERVER_CONVERT_GRAPH_H_
#define SEXTANT_SERVER_CONVERT_GRAPH_H_

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/operation/graph.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/graph.pb.h"

namespace sextant::server {

// Converts the graph at `path`. The engine's own checks are left to the engine.
GraphSpec GraphFrom(const v1::Graph& wire, absl::string_view path, FieldViolations& violations);

// Fills `out`; with each operation's kernels where `include_steps`.
void GraphAnalysisTo(const GraphAnalysis& analysis, bool include_steps,
                     v1::AnalyzeGraphResponse* out);

}  // namespace sextant::server

#endif  // SEXTANT_SERVER_CONVERT_GRAPH_H_
