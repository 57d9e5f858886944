// Graphs of operations, between the wire and the engine.
#ifndef SEXTANT_SERVER_CONVERT_GRAPH_H_
#define SEXTANT_SERVER_CONVERT_GRAPH_H_

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/operation/graph.h"
#include "engine/operation/graph_spec.h"
#include "sextant/v1/accounting_service.pb.h"
#include "sextant/v1/graph.pb.h"

namespace sextant {

// The graph at `path`. What the engine itself checks is left to it.
GraphSpec GraphFrom(const v1::Graph& wire, absl::string_view path, FieldViolations& violations);

// Fills `out`; each operation's kernels too where `include_steps`.
void GraphAnalysisTo(const GraphAnalysis& analysis, bool include_steps,
                     v1::AnalyzeGraphResponse* out);

}  // namespace sextant

#endif  // SEXTANT_SERVER_CONVERT_GRAPH_H_
