// Copies of a stage's gradients and weights that frameworks keep in addition to model state:
// gradients in a second type, gradients that wait to be sharded, and weights cast to the compute
// type. docs/memory.md, "A stage's ledger", derives each.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_FRAMEWORK_COPIES_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_FRAMEWORK_COPIES_H_

#include <cstdint>

#include "engine/base/units.h"
#include "engine/memory/ledger/memory_job.h"
#include "engine/memory/ledger_row.h"
#include "engine/memory/state/stage_state.h"
#include "engine/memory/transients/stage_transients.h"

namespace sextant {

struct CopiesContext {
  const MemoryJob& job;
  StageStateContext state;  // of the same job
};

// DeepSpeed's bf16 optimizer adds computed gradients to wider ones after each backward pass, then
// zeroes them but frees their memory only at the end of the step. It is used below ZeRO stage 2,
// so they are not sharded. Source: deepspeedai/DeepSpeed, `deepspeed/runtime/bf16_optimizer.py`:
// update_hp_grads(), clear_lp_grads() and zero_grad().
bool KeepsComputedGradients(const MemoryJob& job);

// FSDP2 may reduce gradients to shards only after the last micro-batch: until then they accumulate
// whole, and there are no shards. Source: pytorch/pytorch, set_requires_gradient_sync() and
// to_accumulated_grad_if_needed() of `torch/distributed/fsdp/_fully_shard`, and
// `torch/distributed/pipelining/stage.py`, which requests it. With one micro-batch none waits, and
// with one rank the shard is the whole.
bool KeepsWholeGradients(const MemoryJob& job);

// torch.autocast casts fp32 weights of matrix products. It caches casts of trained weights to the
// end of its region; autograd keeps all casts to the backward pass. FSDP has its own policy
// instead, which gathers in the compute type. Source: pytorch/pytorch,
// `aten/src/ATen/autocast_mode.cpp`, cached_cast().
bool CastsWeights(const MemoryJob& job);

// Bytes on a GPU of one stage.
struct FrameworkCopies {
  Bytes computed_gradients = Bytes(0);
  Bytes whole_gradients = Bytes(0);
  Bytes forward_casts = Bytes(0);  // also at the loss
  Bytes head_casts = Bytes(0);     // in the head's backward pass
  Bytes layer_casts = Bytes(0);    // in a layer's backward pass

  Bytes CastsAt(StagePhase phase) const {
    if (phase == StagePhase::kHead) return head_casts;
    return phase == StagePhase::kLayer ? layer_casts : forward_casts;
  }
};

// Allocates nothing.
FrameworkCopies FrameworkCopiesOf(const CopiesContext& context, int64_t stage);

// Copies in the optimizer step of a rank that holds `state`: of gradients, in fp32 and flat in
// their own type, and of second moments. Master weights are fp32, and divided as the gradients that
// update them.
Bytes StepCopiesOf(const MemoryJob& job, const StageState& state);

// The copies of two stages on one GPU.
FrameworkCopies SumOf(const FrameworkCopies& a, const FrameworkCopies& b);

// These append rows that add up to each sum, tensor by tensor.
void AppendComputedGradientRows(const CopiesContext& context, int64_t stage, LedgerRows& rows);
void AppendWholeGradientRows(const CopiesContext& context, int64_t stage, LedgerRows& rows);

void AppendCastRows(const CopiesContext& context, int64_t stage, StagePhase phase,
                    LedgerRows& rows);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_FRAMEWORK_COPIES_H_
