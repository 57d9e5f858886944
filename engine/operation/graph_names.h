// Names of a graph: which are allowed, and what they stand for.
#ifndef SEXTANT_ENGINE_OPERATION_GRAPH_NAMES_H_
#define SEXTANT_ENGINE_OPERATION_GRAPH_NAMES_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "engine/base/field_violation.h"

namespace sextant {

// Adds what is wrong with `name` at `path`: no bytes or more than kMaxGraphNameBytes, bytes that
// are no UTF-8, control characters. Whether it is fine.
bool CheckGraphName(absl::string_view name, absl::string_view path, FieldViolations& violations);

// Names of one kind, each with a number. The texts have to outlive it.
class GraphNames {
 public:
  // `kind` and `where_listed` as UnknownNameMessage() takes them.
  GraphNames(absl::string_view kind, absl::string_view where_listed)
      : kind_(kind), where_listed_(where_listed) {}

  // False if the name has a number already, which it keeps.
  bool Add(absl::string_view name, size_t number);
  absl::optional<size_t> Find(absl::string_view name) const;

  // Find() of a name that somebody wrote; adds at `path` where it is not allowed or not known.
  absl::optional<size_t> FindOrSay(absl::string_view name, absl::string_view path,
                                   FieldViolations& violations);

 private:
  absl::string_view kind_;
  absl::string_view where_listed_;
  absl::flat_hash_map<absl::string_view, size_t> numbers_;
  std::vector<absl::string_view> in_order_;
  int searches_ = 0;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_OPERATION_GRAPH_NAMES_H_
