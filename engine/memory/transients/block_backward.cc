// The backward pass of a block, operation by operation: docs/blocks.md, "Transients".
#include <cstdint>

#include "engine/memory/activations/layer_rows.h"
#include "engine/memory/transients/layer_backward.h"

namespace sextant {
namespace {

constexpr uint32_t Bit(BlockValueId id) { return uint32_t{1} << id; }

}  // namespace

void LayerBackward::MakeBlockGradient(const Block& block, BlockValueId id) {
  const BlockValue& value = block.value(id);
  const int64_t ranks = context_.activations.tensor_ranks();
  const CheckedInt elements = value.divided ? CheckedInt(value.width / ranks) * sizes_.tokens
                                            : CheckedInt(value.width) * sizes_.sequence_tokens;
  Make(value.gradient, value.shape, elements, "made, and not yet read");
}

// States of chunks and their gradients, and what else the kernels make again. Context parallel
// ranks that exchange heads hold both what is sent and what was received.
void LayerBackward::MakeCore(const Block& block, const BlockOp& op) {
  const BlockCore& core = block.core;
  const ActivationContext& a = context_.activations;
  const int64_t ranks = a.tensor_ranks();
  Make("remade", "b s n ...", CheckedInt(core.remade_width / ranks) * sizes_.tokens,
       "made again by the recurrence");
  if (core.state_elements > 0) {
    const int64_t chunks = CeilDivide(SequenceLengthOf(a, place_.part), core.chunk);
    const int64_t heads = CeilDivide(core.heads / ranks, a.batch.context_parallel_size);
    out_->Make(
        {.name = "chunk_states",
         .shape = "b s/C n d v",
         .elements = CheckedInt(core.state_elements) * heads * chunks * a.batch.sequence_count * 2,
         .element_bytes = core.state_bytes,
         .why = "the state before each chunk, and its gradient"},
        core.state_bytes);
  }
  if (a.batch.context_parallel_size == 1) return;
  CheckedInt sent = 0;
  for (const BlockValueId id : op.reads) {
    sent = sent + CheckedInt(block.value(id).width / ranks) * sizes_.tokens;
  }
  Make("exchanged", "b s ...", sent, "sent to ranks that have other heads");
}

void LayerBackward::WalkBlock(const Block& block) {
  const int64_t ranks = context_.activations.tensor_ranks();
  const int64_t waiting_before = waiting_gradients_;
  uint32_t pending = 0;  // values whose gradient is made and not yet read
  for (auto op = block.ops.rbegin(); op != block.ops.rend(); ++op) {
    const bool first = op->reads[0] == block.input();
    Start(LayerBranch::kMixer, BackwardStepOf(op->stage));
    if (op->writes[0] == block.output()) MakeOutputGradient(layer_.norms.after_attention);
    for (const BlockValueId id : op->reads) {
      if (id != block.input()) pending |= Bit(id);
    }
    for (BlockValueId id = 1; id < block.output(); ++id) {
      if ((pending & Bit(id)) != 0) MakeBlockGradient(block, id);
    }
    if (op->kind == BlockOpKind::kCore) MakeCore(block, *op);
    if (op->kind == BlockOpKind::kProject) {
      CheckedInt elements = 0;
      const bool divides = block.SplitOf(*op) != MatrixSplit::kNone;
      for (const BlockWeight& weight : op->weights) {
        elements = elements + CheckedInt(weight.rows) * weight.columns;
      }
      MakeWeightGradient(
          {.shape = "n m",
           .elements = elements.ok() && divides ? CheckedInt(elements.value() / ranks) : elements,
           .reads = first ? ActivationSite::kAttentionInput : ActivationSite::kMixer});
      if (first && divides) {
        MakeBranchInput();
      } else if (first) {
        MakeInputGradient("branch_input_gradient");
      } else if (sizes_.gathers && block.SplitOf(*op) == MatrixSplit::kRows) {
        Make("gathered_latents", "b s r",
             CheckedInt(block.value(op->reads[0]).width) * sizes_.tokens * 2,
             "of all tokens, and a rank's part of their gradients' sum");
      }
    }
    if (first) ++waiting_gradients_;
    for (const BlockValueId id : op->writes) pending &= ~Bit(id);
  }
  waiting_gradients_ = waiting_before;
}

}  // namespace sextant
