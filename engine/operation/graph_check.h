// Checks of a graph that don't need its operations' sizes: names, size, given tensors and
// segments.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_CHECK_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_CHECK_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"
#include "engine/operation/graph.h"
#include "engine/operation/graph_nodes.h"

namespace sextant {

// Adds the errors of `name` at `path`: empty or more than kMaxGraphNameBytes, invalid UTF-8,
// control characters. Returns true where the name is valid.
bool CheckGraphName(absl::string_view name, absl::string_view path, FieldViolations& violations);

// Names of one kind, each with a number. The strings must outlive it.
class GraphNames {
 public:
  // `kind` and `where_listed` as UnknownNameMessage() takes them.
  GraphNames(absl::string_view kind, absl::string_view where_listed)
      : kind_(kind), where_listed_(where_listed) {}

  // Returns false if the name already has a number, which it keeps.
  bool Add(absl::string_view name, size_t number);
  absl::optional<size_t> Find(absl::string_view name) const;

  // Find() for a user's name; adds an error at `path` where it is invalid or unknown.
  absl::optional<size_t> FindOrReport(absl::string_view name, absl::string_view path,
                                      FieldViolations& violations);

 private:
  absl::string_view kind_;
  absl::string_view where_listed_;
  absl::flat_hash_map<absl::string_view, size_t> numbers_;
  std::vector<absl::string_view> in_order_;
  int searches_ = 0;
};

// True where the graph is within the limits on tensors, operations, inputs and the work of
// contraction order searches.
bool IsWithinGraphLimits(const GraphSpec& spec);

// Adds the errors of the graph's size, its own fields, and its operations' names, input counts and
// segments.
void CheckGraphSpec(const GraphSpec& spec, FieldViolations& violations);

// Given tensor i as a value; absent where anything but its name is invalid. Errors are added below
// `path`.
absl::optional<GraphValue> GivenValue(const GraphSpec& spec, size_t i, absl::string_view path,
                                      FieldViolations& violations);

// All segments in order, checkpointed or not. Adds "operations[7].segment" where a segment's
// operations are not consecutive.
std::vector<CheckpointedSegment> SegmentsOf(const GraphSpec& spec, FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_CHECK_H_
