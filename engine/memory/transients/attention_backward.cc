#include <algorithm>

#include "engine/memory/transients/layer_backward.h"

namespace sextant {
namespace {

using Step = BackwardStep;

}  // namespace

LayerBackward::Operands LayerBackward::OperandsOf(const AttentionSpec& attention,
                                                  bool cross) const {
  const ActivationContext& a = context_.activations;
  const auto [heads, key_heads] = HeadsOfRank(attention, a.layout);
  const int64_t keys = cross ? sizes_.encoder_tokens : sizes_.tokens;
  const int64_t length = SequenceLengthOf(a, cross ? ModelPart::kEncoder : place_.part);
  const int64_t core_heads = AttendedKeyHeads(attention, a.layout, a.batch);
  const int64_t gate = OutputGateSize(attention) / a.tensor_ranks();
  const CheckedInt d = attention.query_key_head_size;
  const CheckedInt v = attention.value_head_size;
  const CheckedInt keys_made = attention.values_are_keys ? d : d + v;
  const CheckedInt hidden = sizes_.hidden;
  return {.branch = cross ? LayerBranch::kCrossAttention : LayerBranch::kAttention,
          .cross = cross,
          .heads = heads,
          .query = d * heads * sizes_.tokens,
          .key = d * key_heads * keys,
          .value = v * key_heads * keys,
          .output = v * heads * sizes_.tokens,
          .core_keys = (d + v) * core_heads * keys,
          .expanded = core_heads < heads ? (d + v) * heads * keys : CheckedInt(0),
          .scores = CheckedInt(heads) * sizes_.tokens * length,
          .gate = CheckedInt(gate) * sizes_.tokens,
          .projections = hidden * (d * heads + keys_made * key_heads + gate),
          .output_weights = hidden * v * heads};
}

// The product of heads and gate has gradients for both. The gate's waits for its matrix.
void LayerBackward::WalkGate(const Operands& core, LayerBranch branch) {
  Start(branch, Step::kOutput);
  Make("gated_heads_gradient", "b s a v", core.output, "made by output");
  Make("heads_gradient", "b s a v", core.output, "made by the gate");
  Make("output_gate_gradient", "b s g", core.gate, "made by it, too");
  waiting_gate_ = core.gate;
}

void LayerBackward::WalkAttention(const AttentionSpec& attention, LayerBranch branch) {
  const Operands core = OperandsOf(attention, branch == LayerBranch::kCrossAttention);
  const bool normed =
      core.cross ? layer_.norms.after_cross_attention : layer_.norms.after_attention;
  Start(branch, Step::kOutput);
  MakeOutputGradient(normed);
  Make("heads_gradient", "b s a v", core.output, "made by output");
  MakeWeightGradient({.shape = "h a v",
                      .elements = core.output_weights,
                      .reads = core.cross ? ActivationSite::kCrossHeads : ActivationSite::kHeads});
  if (attention.output_gate != OutputGate::kNone) WalkGate(core, branch);
  WalkExchangeBefore(core);
  if (context_.activations.batch.attention == AttentionKernel::kFlash) {
    WalkFusedCore(core);
  } else {
    WalkUnfusedCore(core);
  }
  WalkExchangeAfter(core);
  if (attention.query_key_norm != QueryKeyNorm::kNone) {
    WalkHeadNorms(attention, core);
  }
  if (attention.latent.has_value()) return WalkLatents(attention, core);
  Start(branch, Step::kInput);
  Make("query_gradient", "b s a d", core.query, "read by query's matrix");
  if (attention.values_are_keys) {
    Make("key_gradient", "b s g d", core.key, "of keys and values, read by their matrix");
  } else {
    Make("key_value_gradients", "b s g d+v", core.key + core.value, "read by theirs");
  }
  MakeBranchInput();
  MakeWeightGradient(
      {.shape = "(a+g) d+g v h",
       .elements = core.projections,
       .reads = core.cross ? ActivationSite::kCrossInput : ActivationSite::kAttentionInput});
}

// The norm of values that are keys adds to the gradient of the key's norm: then those of queries
// are alone with it.
void LayerBackward::WalkHeadNorms(const AttentionSpec& attention, const Operands& core) {
  const auto heads = HeadsOfRank(attention, context_.activations.layout);
  Start(core.branch, Step::kHeadNorms);
  if (!attention.values_are_keys) {
    Make("query_gradient", "b s a d", core.query * 2, "of the norm's output and input");
    Make("key_value_gradients", "b s g d+v", core.key + core.value, "not yet read");
  } else if (heads.query >= 2 * heads.key) {
    Make("query_gradient", "b s a d", core.query * 2, "of the norm's output and input");
    Make("key_gradient", "b s g d", core.key, "of keys and values, not yet read");
  } else {
    Make("query_gradient", "b s a d", core.query, "not yet read");
    Make("key_value_gradients", "b s g 2d+v", core.key * 2 + core.value,
         "of the norms' outputs and input");
  }
}

// dQ is accumulated in fp32 by all blocks of keys; gradients of shared keys and values are
// computed per query head and then summed; the rows of dO O are summed once. Source:
// flash-attention, csrc/flash_attn/flash_api.cpp (mha_bwd), an excerpt; docs/memory_transients.md.
void LayerBackward::WalkFusedCore(const Operands& core) {
  constexpr int64_t kFp32Bytes = 4;
  Start(core.branch, Step::kCore);
  Make("heads_gradient", "b s a v", core.output, "read by the core");
  Make("query_gradient", "b s a d", core.query, "made by the core");
  Make("key_value_gradients", "b s g d+v", core.core_keys, "made by the core");
  MakeExchanged(core);
  Make("expanded_key_value_gradients", "b s a d+v", core.expanded, "before heads are summed");
  out_->Make({.name = "query_gradient_sum",
              .shape = "b s a d",
              .elements = core.query,
              .element_bytes = kFp32Bytes,
              .why = "blocks of keys add to it"},
             kFp32Bytes);
  out_->Make({.name = "row_sums",
              .shape = "b a s",
              .elements = CheckedInt(core.heads) * sizes_.tokens,
              .element_bytes = kFp32Bytes,
              .why = "of the output times its gradient"},
             kFp32Bytes);
}

// The chain rule, with softmax as a separate operation. Of one in fp32 the gradient is cast to
// fp32, and that of the scores is made in it.
void LayerBackward::WalkUnfusedCore(const Operands& core) {
  constexpr int64_t kFp32Bytes = 4;
  const MicroBatchSpec& batch = context_.activations.batch;
  const int64_t bytes = WidensSoftmax(batch) ? kFp32Bytes : ComputeBytesOf(batch);
  const auto make = [&](absl::string_view name, absl::string_view why) {
    out_->Make({.name = name,
                .shape = "b a s s",
                .elements = core.scores,
                .element_bytes = bytes,
                .why = why},
               bytes);
  };
  Start(core.branch, Step::kValues);
  Make("heads_gradient", "b s a v", core.output, "read by the product");
  Make("softmax_gradient", "b a s s", core.scores, "made by it");
  Make("value_gradient", "b s g v", core.value, "made by it");
  Start(core.branch, Step::kCore);
  Make("value_gradient", "b s g v", core.value, "not yet read");
  make("softmax_gradient", "read by dropout, or by softmax");
  make("score_gradient", "made by it");
  Start(core.branch, Step::kCore);
  Make("value_gradient", "b s g v", core.value, "not yet read");
  Make("score_gradient", "b a s s", core.scores, "read by the product");
  Make("query_gradient", "b s a d", core.query, "made by it");
  Make("key_gradient", "b s g d", core.key, "made by it");
}

// DeepSpeed's exchange is an operation of its own. Source: deepspeedai/DeepSpeed,
// deepspeed/sequence/layer.py @25493c74, single_all_to_all(): its input, a copy in the order that
// is sent, and what is received.
void LayerBackward::WalkExchangeBefore(const Operands& core) {
  const MicroBatchSpec& batch = context_.activations.batch;
  if (!ExchangesHeads(batch)) return;
  const bool flash = batch.attention == AttentionKernel::kFlash;
  Start(core.branch, flash ? Step::kCore : Step::kValues);
  Make("heads_gradient", "b s a v", core.output, "made by output");
  Make("exchanged_heads_gradient", "b s a v", core.output * 2, "sent and received");
  if (!ExchangesOutputAgain(batch)) return;
  Make("exchanged_heads", "b s a v", core.output * 2, "sent and received");
}

// Transformer Engine's core and its exchanges are one operation, which holds what it was given and
// what it made until it ends. Source: NVIDIA/TransformerEngine,
// transformer_engine/pytorch/attention/dot_product_attention/context_parallel.py @015d2257,
// AttnFuncWithCPAndQKVOA2A.backward().
void LayerBackward::MakeExchanged(const Operands& core) {
  const MicroBatchSpec& batch = context_.activations.batch;
  if (!ExchangesOutputAgain(batch)) return;
  Make("own_heads_gradient", "b s a v", core.output, "before its exchange");
  Make("exchanged_heads", "b s a v", core.output, "read by the core");
  if (batch.recomputation.policy != RecomputePolicy::kSelective) return;
  Make("exchanged_operands", "b s a d+g(d+v)", core.query + core.core_keys, "exchanged again");
}

void LayerBackward::WalkExchangeAfter(const Operands& core) {
  const MicroBatchSpec& batch = context_.activations.batch;
  if (!ExchangesHeads(batch)) return;
  const CheckedInt gradients = core.query + core.core_keys;
  if (ExchangesOutputAgain(batch)) {
    Start(core.branch, Step::kCore);
    Make("heads_gradient", "b s a v", core.output, "read by the core");
    MakeExchanged(core);
    Make("exchanged_gradients", "b s a d+g(d+v)", gradients * 3, "made, sent and received");
    return;
  }
  Start(core.branch, Step::kHeadNorms);
  Make("query_key_value_gradients", "b s a d+g(d+v)", gradients, "made by the core");
  Make("exchanged_gradient", "b s a d", core.query * 2, "sent and received");
}

// Latents are whole on every rank: only sequence parallelism divides their tokens.
void LayerBackward::WalkLatents(const AttentionSpec& attention, const Operands& core) {
  const LatentSpec& latent = *attention.latent;
  const int64_t normed = latent.query_rank + latent.key_value_rank;
  const CheckedInt widths = CheckedInt(normed) + latent.rotary_size;
  const CheckedInt latents = widths * sizes_.sequence_tokens;
  const CheckedInt d = attention.query_key_head_size;
  const CheckedInt plain_and_value = d + attention.value_head_size + latent.rotary_size * -1;
  const CheckedInt heads = HeadsOfRank(attention, context_.activations.layout).query;
  const bool direct = latent.query_rank == 0;
  Start(core.branch, Step::kUp);
  Make("query_gradient", "b s a d", core.query, "read by query_up");
  Make("key_value_gradients", "b s a d+v", core.key + core.value, "read by key_value_up");
  Make("latent_gradients", "b s q+r+r'", latents, "made by them");
  if (sizes_.gathers) {
    Make("gathered_latents", "b s q+r", CheckedInt(normed) * sizes_.tokens,
         "a rank's weight gradient reads all tokens");
    Make("unreduced_latent_gradients", "b s q+r", CheckedInt(normed) * sizes_.tokens,
         "a rank's part of the sum, of all tokens");
  }
  MakeWeightGradient(
      {.shape = "a (d+v) r",
       .elements = heads * (d * latent.query_rank + plain_and_value * latent.key_value_rank),
       .reads = ActivationSite::kKeyValueLatent});
  Start(core.branch, Step::kLatentNorms);
  if (direct) Make("query_gradient", "b s a d", core.query, "not yet read");
  Make("latent_gradients", "b s q+r+r'", latents * 2, "of the norms' outputs and inputs");
  Start(core.branch, Step::kInput);
  Make("latent_gradients", "b s q+r+r'", latents, "read by the matrices");
  if (direct) Make("query_gradient", "b s a d", core.query, "read by query's matrix");
  if (direct || attention.output_gate != OutputGate::kNone) {
    MakeBranchInput();
  } else {
    MakeInputGradient("branch_input_gradient");
  }
  const int64_t gate = OutputGateSize(attention) / context_.activations.tensor_ranks();
  const CheckedInt query = (direct ? d * heads : CheckedInt(0)) + gate;
  MakeWeightGradient({.shape = "q+r+r' h",
                      .elements = (widths + query) * sizes_.hidden,
                      .reads = ActivationSite::kAttentionInput});
}

}  // namespace sextant
