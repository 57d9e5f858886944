// What can be said of a graph before its operations are looked into.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_CHECK_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_CHECK_H_

#include <cstddef>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/operation/graph_nodes.h"
#include "engine/operation/graph_spec.h"

namespace sextant {

// Whether there are at most as many tensors, operations, inputs and orders of contraction to
// search through as a graph may have.
bool IsWithinGraphLimits(const GraphSpec& spec);

// Adds what is wrong with the graph's size, its own fields, and its operations' names,
// numbers of inputs and segments.
void CheckGraphSpec(const GraphSpec& spec, FieldViolations& violations);

// Given tensor i as a value; nothing where something is wrong with it, but for its name, which
// is then added below `path`.
absl::optional<GraphValue> GivenValue(const GraphSpec& spec, size_t i, absl::string_view path,
                                      FieldViolations& violations);

// All segments in order, checkpointed or not. Adds "operations[7].segment" where one is not one
// run of operations.
std::vector<CheckpointedSegment> SegmentsOf(const GraphSpec& spec, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_CHECK_H_
