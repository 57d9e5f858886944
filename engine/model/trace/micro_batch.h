// The properties of a micro-batch that its activations depend on: its size, how its tokens are
// divided, which tensors are recomputed, and which kernels keep which tensors.
#ifndef SEXTANT_ENGINE_MODEL_TRACE_MICRO_BATCH_H_
#define SEXTANT_ENGINE_MODEL_TRACE_MICRO_BATCH_H_

#include <algorithm>
#include <compare>
#include <cstdint>
#include <utility>

#include "absl/strings/string_view.h"
#include "engine/base/checked_math.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/flops/training_step.h"
#include "engine/model/sharding/parallel_layout.h"
#include "engine/model/trace/training_choices.h"
#include "engine/tensor/data_type.h"

namespace sextant {

enum class AttentionKernel {
  kFlash,    // fused: keeps its output and one number per query and head
  kUnfused,  // keeps softmax over all pairs of tokens, masked ones included
};

// The place where an expert's output is scaled by the router's probability.
enum class ExpertScaling {
  kBeforeDown,  // scales the inner product: nothing more is kept
  kAfterDown,   // scales the outputs, which are kept for it
};

// The way of tokens to the ranks of their experts.
enum class ExpertDispatch {
  kAllToAll,   // each copy goes to its expert's rank
  kAllGather,  // each rank gathers all tokens, and sums of outputs are scattered (Megatron-LM)
};

// Recomputation. kSelective recomputes core attention; the switches below add to kNone and to
// kSelective; kFull keeps only the input of every `layers_per_block`th layer; kOperators keeps the
// input of each layer and what its list saves.
struct Recomputation {
  RecomputePolicy policy = RecomputePolicy::kNone;
  int64_t layers_per_block = 1;  // of kFull
  bool norm_outputs = false;
  bool activation_function = false;
  bool latent_up_projections = false;  // queries, keys and values of latent attention

  friend auto operator<=>(const Recomputation&, const Recomputation&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Recomputation& again) {
    const auto& [kind, layers, norms, functions, latent] = again;  // all: else this is an error
    return H::combine(std::move(h), kind, layers, norms, functions, latent);
  }
};

struct MicroBatchSpec {
  int64_t sequence_count = 1;           // the micro-batch size
  int64_t sequence_length = 0;          // tokens of the decoder, or of the only stack
  int64_t encoder_sequence_length = 0;  // of models with an encoder and a decoder
  bool sequence_parallel = false;  // norms and residuals are divided among tensor parallel ranks
  int64_t context_parallel_size = 1;
  ContextParallelKind context_parallel_kind = ContextParallelKind::kRing;
  // For kAllToAll. True (Transformer Engine): attention and its exchanges are one operation, which
  // keeps the output as the next matrix reads it, exchanges it again in the backward pass, and puts
  // tokens in order after each exchange. False (DeepSpeed): each exchange is a separate operation,
  // and the output is kept before and after it.
  bool exchanges_output_again = false;
  DataType compute_data_type = DataType::kBf16;
  // The type of tensors kept only as inputs of weight matrices: fp8 recipes keep them narrower.
  DataType matmul_input_data_type = DataType::kUnspecified;  // compute_data_type
  AttentionKernel attention = AttentionKernel::kFlash;
  // True where the output of fused attention is kept twice: as the kernel made it, and in the
  // order that the next matrix reads (Transformer Engine over flash-attention, whose layout puts
  // sequences before tokens). With one sequence both orders are the same, and nothing is copied.
  bool attention_output_copied = false;
  // True where a pipeline's stage keeps what it sends on until the micro-batch comes back.
  bool keeps_stage_outputs = false;
  bool dropout = false;          // of embeddings, attention and branches
  bool adapter_dropout = false;  // of each adapter's input
  Recomputation recomputation = {};
  LossKind loss = LossKind::kVocabularyParallel;
  int64_t loss_chunk_tokens = 0;  // of kChunked
  // Tensor parallel ranks gather all logits, and each computes the loss of all of them.
  bool whole_logits = false;
  // Habits of transformers' code and of torch.autocast: docs/memory_transients.md, "Eager code".
  bool eager_layers = false;         // step by step: RMSNorm in fp32, gates activated apart
  bool adapters_cast_input = false;  // each for itself
  bool keeps_frozen_inputs = false;  // LLM.int8() does, of layers' matrices
  bool wide_residual = false;        // in fp32, and cast for each matrix that reads it
  bool wide_outputs = false;         // logits that the model returns are in fp32
  bool wide_softmax = false;         // of unfused attention, in fp32, and cast for the product
  LogitCopies logit_copies = LogitCopies::kNone;  // in fp32, of a loss on whole logits
  ExpertScaling expert_scaling = ExpertScaling::kBeforeDown;
  ExpertDispatch expert_dispatch = ExpertDispatch::kAllToAll;
  // For kBeforeDown: true where one kernel computes the activation function and the scaling, and
  // recomputes them for their gradients (Megatron-LM's fused SwiGLU, quick GEGLU and squared
  // ReLU). False: separate operations, each of which keeps its input.
  bool fused_expert_activation = true;
  // Token slots of a GPU's routed experts as a multiple of an even share: the excess load of the
  // busiest GPU, or a capacity factor.
  double expert_load_factor = 1;
};

// True where context parallel ranks exchange heads.
inline bool ExchangesHeads(const MicroBatchSpec& batch) {
  return batch.context_parallel_kind == ContextParallelKind::kAllToAll &&
         batch.context_parallel_size > 1;
}

// True where the exchanged output of fused attention is exchanged once more for the backward pass.
inline bool ExchangesOutputAgain(const MicroBatchSpec& batch) {
  return ExchangesHeads(batch) && batch.exchanges_output_again &&
         batch.attention == AttentionKernel::kFlash;
}

// The ranks among which sequence parallelism divides the tokens of norms and residuals.
inline int64_t SequenceRanks(const MicroBatchSpec& batch, const ParallelLayout& layout) {
  return batch.sequence_parallel ? layout.tensor_parallel_size : 1;
}

// Heads on a tensor parallel rank. Where there are more ranks than heads of keys and values, some
// hold the same one.
struct RankHeads {
  int64_t query = 0;
  int64_t key = 0;
};

inline RankHeads HeadsOfRank(const AttentionSpec& attention, const ParallelLayout& layout) {
  const int64_t ranks = layout.tensor_parallel_size;
  return {.query = attention.head_count / ranks,
          .key = std::max<int64_t>(attention.key_value_head_count / ranks, 1)};
}

// Key and value heads of a tensor parallel rank as its core attends to them: where ranks exchange
// heads, those of all of them, each of which has one or more.
// Source: docs/step_time.md, "Context parallelism".
int64_t AttendedKeyHeads(const AttentionSpec& attention, const ParallelLayout& layout,
                         const MicroBatchSpec& batch);

// The ranks whose tokens each of them gathers for its experts: x x_t. 1: none gathers.
inline int64_t TokenGatheringRanks(const ParallelLayout& layout, const MicroBatchSpec& batch) {
  if (batch.expert_dispatch != ExpertDispatch::kAllGather) return 1;
  return layout.expert_parallel_size * ExpertTensorParallelSize(layout);
}

// Appends to `violations` all errors of `batch` for `spec` and `layout`, which have passed
// CheckArchitecture() and CheckLayout(), under the paths of a run's request.
void CheckMicroBatch(const MicroBatchSpec& batch, const ArchitectureSpec& spec,
                     const ParallelLayout& layout, FieldViolations& violations);

// Routed token slots of one sequence of `length` tokens at the experts of one GPU.
CheckedInt ExpertSlotsPerSequence(const ExpertsSpec& experts, const ParallelLayout& layout,
                                  const MicroBatchSpec& batch, int64_t length);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_TRACE_MICRO_BATCH_H_
