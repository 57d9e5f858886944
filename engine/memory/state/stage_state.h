// Model state on one GPU of a pipeline stage, tensor by tensor: weights, gradients, master weights
// and the optimizer's buffers. docs/memory_state.md derives it.
#ifndef SEXTANT_ENGINE_MEMORY_STATE_STAGE_STATE_H_
#define SEXTANT_ENGINE_MEMORY_STATE_STAGE_STATE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "engine/base/units.h"
#include "engine/memory/ledger_row.h"
#include "engine/memory/state/state_rules.h"

namespace sextant {

// On one GPU; on each of the stage's as much, to less than an element a tensor.
struct StageState {
  Bytes weights;
  Bytes gradients;
  Bytes master_weights;
  Bytes optimizer_state;
  Bytes host;  // what this GPU's host holds in its stead: offloaded

  // There only at times. What ZeRO stage 3 gathers, and gradients that aren't divided, or sent to
  // the host, yet; the largest quantised matrix as it is multiplied with.
  Bytes gathered_weights;
  Bytes gathered_gradients;
  Bytes dequantized_weights;

  Bytes total() const { return weights + gradients + master_weights + optimizer_state; }
  Bytes transients() const { return gathered_weights + gathered_gradients + dequantized_weights; }
};

// The state of `stage`. Rows, appended to `rows`, add up to total() and, those of kind kTransient,
// to transients(); null: sums alone, and nothing is allocated.
//
// Errors: kInvalidArgument "stage" where the layout has no such stage.
absl::StatusOr<StageState> StageStateOf(const StageStateContext& context, int64_t stage,
                                        LedgerRows* rows = nullptr);
// The same with `rules`, which are StateRulesOf(context), for one stage after another.
absl::StatusOr<StageState> StageStateOf(const StageStateContext& context, const StateRules& rules,
                                        int64_t stage, LedgerRows* rows = nullptr);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_STATE_STAGE_STATE_H_
