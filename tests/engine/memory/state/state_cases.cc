#include "tests/engine/memory/state/state_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/model/architecture/architectures.h"
#include "tests/support/status_matchers.h"

namespace sextant {
namespace {

std::string NameOf(const LedgerRow& row) {
  std::string out;
  for (const absl::string_view part : {row.module, row.name, row.role, row.term}) {
    if (!out.empty() && !part.empty()) out += ".";
    out += std::string(part);
  }
  return out;
}

}  // namespace

StateCase DenseCase() { return {.spec = SmallDecoder()}; }

StateCase ExpertsCase() { return {.spec = SmallMixture()}; }

StageState StateOf(const StateCase& c, int64_t stage, LedgerRows* rows) {
  const auto weights = ShardedWeights::Of(c.spec, "model", c.layout, "layout");
  EXPECT_THAT(weights, IsOk());
  if (!weights.ok()) return {};
  FieldViolations violations;
  CheckStateSpec(c.state, c.spec, c.layout, c.context_parallel_size, "state", violations);
  EXPECT_THAT(violations.ToStatus(), IsOk());
  if (!violations.empty()) return {};
  const StageStateContext context = {c.spec, c.layout, *weights, c.state, c.context_parallel_size};
  const auto state = StageStateOf(context, stage, rows);
  EXPECT_THAT(state, IsOk());
  return state.value_or(StageState());
}

std::map<std::string, int64_t> ElementsByRow(const StateCase& c, int64_t stage) {
  LedgerRows rows;
  StateOf(c, stage, &rows);
  std::map<std::string, int64_t> out;
  for (const LedgerRow& row : rows) out[NameOf(row)] += row.elements * row.layers;
  return out;
}

LedgerRow RowOf(const StateCase& c, const std::string& name, int64_t stage) {
  LedgerRows rows;
  StateOf(c, stage, &rows);
  for (const LedgerRow& row : rows) {
    if (NameOf(row) == name) return row;
  }
  return {};
}

}  // namespace sextant
