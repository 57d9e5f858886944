// A published run that lacks a field: requests for its possible values.
#ifndef SEXTANT_TESTS_VALIDATION_OPEN_CASE_H_
#define SEXTANT_TESTS_VALIDATION_OPEN_CASE_H_

#include <string>
#include <vector>

#include "absl/types/optional.h"
#include "engine/base/units.h"
#include "sextant/v1/planning_service.pb.h"
#include "tests/validation/measured_memory.h"

namespace sextant {

struct OpenCase {
  std::string source = {};
  std::string id = {};
  std::string open = {};                           // "recomputation: none or full"
  std::vector<v1::PlanRunRequest> requests = {};   // one a choice; of sizes, the least and the most
  std::vector<MemoryDefinition> definitions = {};  // several where the source doesn't say which
  absl::optional<Bytes> measured = {};             // absent: the job ran out of memory
};

}  // namespace sextant

#endif  // SEXTANT_TESTS_VALIDATION_OPEN_CASE_H_
