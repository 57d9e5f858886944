// Models and ways to keep their state that tests start from.
#ifndef SEXTANT_TESTS_ENGINE_MEMORY_STATE_STATE_CASES_H_
#define SEXTANT_TESTS_ENGINE_MEMORY_STATE_STATE_CASES_H_

#include <cstdint>
#include <map>
#include <string>

#include "engine/memory/state/stage_state.h"
#include "engine/memory/state/state_spec.h"

namespace sextant {

struct StateCase {
  ArchitectureSpec spec;
  ParallelLayout layout = {};
  StateSpec state = {.precision = WithDefaults(PrecisionPolicy())};
  int64_t context_parallel_size = 1;
};

// A decoder of 3560 parameters (SmallDecoder()) and one of experts (SmallMixture()), bf16, AdamW.
StateCase DenseCase();
StateCase ExpertsCase();

// The state of a stage, and its rows if wanted; checks the case. Nothing on an error.
StageState StateOf(const StateCase& c, int64_t stage = 0, LedgerRows* rows = nullptr);

// Elements of each row of the stage, layers folded in, by "module.name.role.term"; the parts of
// the name that are empty left out.
std::map<std::string, int64_t> ElementsByRow(const StateCase& c, int64_t stage = 0);

// The row of that name; an empty one if there is none.
LedgerRow RowOf(const StateCase& c, const std::string& name, int64_t stage = 0);

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MEMORY_STATE_STATE_CASES_H_
