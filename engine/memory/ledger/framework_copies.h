// What training frameworks keep of a stage's gradients and weights beside model state: gradients in
// a second type, gradients that wait to be shared out, and weights cast to the compute type.
// docs/memory.md derives each.
#ifndef SEXTANT_ENGINE_MEMORY_LEDGER_FRAMEWORK_COPIES_H_
#define SEXTANT_ENGINE_MEMORY_LEDGER_FRAMEWORK_COPIES_H_

#include <cstdint>

#include "engine/base/units.h"
#include "engine/memory/ledger/job_spec.h"
#include "engine/memory/ledger_row.h"
#include "engine/memory/state/stage_state.h"
#include "engine/memory/transients/stage_transients.h"

namespace sextant {

struct CopiesContext {
  const JobSpec& job;
  StageStateContext state;  // of the same job
};

// DeepSpeed's bf16 optimizer adds gradients, as backward passes make them, to wider ones behind
// each pass, and then sets them to zero without letting go of their memory before the step's end.
// It is in use below ZeRO stage 2, so that nothing divides them. Source: deepspeedai/DeepSpeed,
// `deepspeed/runtime/bf16_optimizer.py`: update_hp_grads(), clear_lp_grads() and zero_grad().
bool KeepsComputedGradients(const JobSpec& job);

// FSDP2 may reduce gradients to shards behind the last micro-batch alone: until then they add up
// whole, and there are no shards. Source: pytorch/pytorch, set_requires_gradient_sync() and
// to_accumulated_grad_if_needed() of `torch/distributed/fsdp/_fully_shard`, and
// `torch/distributed/pipelining/stage.py`, which asks for it. With one micro-batch none waits, and
// with one rank the whole is the shard.
bool KeepsWholeGradients(const JobSpec& job);

// torch.autocast casts fp32 weights that matrices are multiplied with, and keeps casts of those
// that are trained to the end of its region, autograd all to the backward pass. FSDP has a policy
// of its own instead, which gathers in the compute type. Source: pytorch/pytorch,
// `aten/src/ATen/autocast_mode.cpp`, cached_cast().
bool CastsWeights(const JobSpec& job);

// Bytes on a GPU of one stage.
struct FrameworkCopies {
  Bytes computed_gradients = Bytes(0);
  Bytes whole_gradients = Bytes(0);
  Bytes forward_casts = Bytes(0);  // and at the loss
  Bytes head_casts = Bytes(0);     // in the head's backward pass
  Bytes layer_casts = Bytes(0);    // in a layer's

  Bytes CastsAt(StageMoment moment) const {
    if (moment == StageMoment::kHead) return head_casts;
    return moment == StageMoment::kLayer ? layer_casts : forward_casts;
  }
};

// Allocates nothing.
FrameworkCopies FrameworkCopiesOf(const CopiesContext& context, int64_t stage);

// Of two stages on one GPU.
FrameworkCopies SumOf(const FrameworkCopies& a, const FrameworkCopies& b);

// Append rows that add up to each, tensor by tensor.
void AppendComputedGradientRows(const CopiesContext& context, int64_t stage, LedgerRows& rows);
void AppendWholeGradientRows(const CopiesContext& context, int64_t stage, LedgerRows& rows);
void AppendCastRows(const CopiesContext& context, int64_t stage, StageMoment moment,
                    LedgerRows& rows);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_LEDGER_FRAMEWORK_COPIES_H_
