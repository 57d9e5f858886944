// Model state on one GPU of a pipeline stage, tensor by tensor: weights, gradients, master weights
// and the optimizer's buffers. docs/memory.md, "Model state", derives it.
#ifndef SEXTANT_ENGINE_MEMORY_STATE_STAGE_STATE_H_
#define SEXTANT_ENGINE_MEMORY_STATE_STAGE_STATE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "engine/base/units.h"
#include "engine/memory/ledger_row.h"
#include "engine/memory/state/state_rules.h"

namespace sextant {

// On one GPU. The GPUs of a stage differ by less than one element per tensor.
struct StageState {
  Bytes weights;
  Bytes gradients;
  Bytes master_weights;
  Bytes optimizer_state;
  Bytes host;  // offloaded to the GPU's host

  // Transient: weights and gradients gathered by ZeRO stage 3, gradients not yet divided or sent
  // to the host, and the largest quantised matrix while dequantised for its product.
  Bytes gathered_weights;
  Bytes gathered_gradients;
  Bytes dequantized_weights;

  Bytes total() const { return weights + gradients + master_weights + optimizer_state; }
  Bytes transients() const { return gathered_weights + gathered_gradients + dequantized_weights; }
};

// The state of two stages on one GPU.
StageState SumOf(const StageState& a, const StageState& b);

// The state of `stage`. Rows appended to `rows` add up to total() and, for rows of kind
// kTransient, to transients(). null: only sums, and nothing is allocated.
//
// Errors: kInvalidArgument "stage" where the layout has no such stage.
absl::StatusOr<StageState> StageStateOf(const StageStateContext& context, int64_t stage,
                                        LedgerRows* rows = nullptr);
// The same with `rules`, which are StateRulesOf(context), shared by several stages.
absl::StatusOr<StageState> StageStateOf(const StageStateContext& context, const StateRules& rules,
                                        int64_t stage, LedgerRows* rows = nullptr);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_STATE_STAGE_STATE_H_
