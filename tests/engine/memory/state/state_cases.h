// Models and ways to keep their state that tests start from.
#ifndef SEXTANT_TESTS_ENGINE_MEMORY_STATE_STATE_CASES_H_
#define SEXTANT_TESTS_ENGINE_MEMORY_STATE_STATE_CASES_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>

#include "engine/memory/state/stage_state.h"
#include "engine/memory/state/state_spec.h"
#include "tests/engine/model/architecture/architectures.h"
#include "tests/support/status_matchers.h"

namespace sextant {

struct StateCase {
  ArchitectureSpec spec;
  ParallelLayout layout = {};
  StateSpec state = {.precision = WithDefaults(PrecisionPolicy())};
  int64_t context_parallel_size = 1;
};

inline std::string NameOf(const LedgerRow& row) {
  std::string out;
  for (const absl::string_view part : {row.module, row.name, row.role, row.term}) {
    if (!out.empty() && !part.empty()) out += ".";
    out += std::string(part);
  }
  return out;
}

// A decoder of 3560 parameters (SmallDecoder()) and one of experts (SmallMixture()), bf16, AdamW.
inline StateCase DenseCase() { return {.spec = SmallDecoder()}; }

inline StateCase ExpertsCase() { return {.spec = SmallMixture()}; }

// The state of a stage, and its rows if wanted; checks the case. Nothing on an error.
inline StageState StateOf(const StateCase& c, int64_t stage = 0, LedgerRows* rows = nullptr) {
  const auto weights = ShardedWeights::Of(c.spec, "model", c.layout, "layout");
  EXPECT_THAT(weights, IsOk());
  if (!weights.ok()) return {};
  FieldViolations violations;
  CheckStateSpec(c.state, c.spec, c.layout, c.context_parallel_size, violations);
  EXPECT_THAT(violations.ToStatus(), IsOk());
  if (!violations.empty()) return {};
  const StageStateContext context = {c.spec, c.layout, *weights, c.state, c.context_parallel_size};
  const auto state = StageStateOf(context, stage, rows);
  EXPECT_THAT(state, IsOk());
  return state.value_or(StageState());
}

// Elements of each row of the stage, layers folded in, by "module.name.role.term"; the parts of
// the name that are empty left out.
inline std::map<std::string, int64_t> ElementsByRow(const StateCase& c, int64_t stage = 0) {
  LedgerRows rows;
  StateOf(c, stage, &rows);
  std::map<std::string, int64_t> out;
  for (const LedgerRow& row : rows) out[NameOf(row)] += row.elements * row.layers;
  return out;
}

// The row of that name; an empty one if there is none.
inline LedgerRow RowOf(const StateCase& c, const std::string& name, int64_t stage = 0) {
  LedgerRows rows;
  StateOf(c, stage, &rows);
  for (const LedgerRow& row : rows) {
    if (NameOf(row) == name) return row;
  }
  return {};
}

}  // namespace sextant

#endif  // SEXTANT_TESTS_ENGINE_MEMORY_STATE_STATE_CASES_H_
