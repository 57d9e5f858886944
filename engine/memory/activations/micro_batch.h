// One micro-batch as far as its activations depend on it: its size, how its tokens are cut, what is
// computed again instead of being kept, and which kernels keep what.
#ifndef SEXTANT_ENGINE_MEMORY_ACTIVATIONS_MICRO_BATCH_H_
#define SEXTANT_ENGINE_MEMORY_ACTIVATIONS_MICRO_BATCH_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/base/field_violation.h"
#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/flops/training_step.h"
#include "engine/model/sharding/parallel_layout.h"
#include "engine/tensor/data_type.h"

namespace sextant {

enum class AttentionKernel {
  kFlash,    // fused: keeps its output and a number a query and head
  kUnfused,  // keeps softmax over all pairs of tokens, whichever the mask hides
};

enum class LossKind {
  kPlain,               // keeps logits, which stay the model's output, and their fp32 softmax
  kVocabularyParallel,  // keeps the fp32 softmax, made in the place of the logits (Megatron-LM)
  kFused,               // keeps logits, which their gradient overwrites
  kChunked,             // works out gradients chunk by chunk of tokens in the forward pass
  // The same as kVocabularyParallel, in compiled steps, one of which makes a copy of all logits in
  // fp32: Megatron-LM's cross_entropy_loss_fusion before it moved that step out.
  kVocabularyParallelCompiled,
};

// Where the output of an expert is scaled by what the router gave it.
enum class ExpertScaling {
  kBeforeDown,  // the inner product is: nothing more is kept
  kAfterDown,   // the outputs are, and so are kept
};

// What is computed again. `policy` kSelective stands for core attention; the switches below add to
// kNone and to it; kFull keeps the input of a layer alone, of each `layers_per_block`th.
struct Recomputation {
  RecomputePolicy policy = RecomputePolicy::kNone;
  int64_t layers_per_block = 1;  // of kFull
  bool activation_function = false;
  bool norm_outputs = false;
  bool latent_up_projections = false;  // queries, keys and values of latent attention
};

struct MicroBatchSpec {
  int64_t sequence_count = 1;           // the micro-batch size
  int64_t sequence_length = 0;          // tokens of the decoder, or of the only stack
  int64_t encoder_sequence_length = 0;  // where there are both
  bool sequence_parallel = false;       // norms and residuals are cut among tensor parallel ranks
  int64_t context_parallel_size = 1;
  DataType compute_data_type = DataType::kBf16;
  // What is kept only to multiply weights with: fp8 recipes keep it narrower.
  DataType matmul_input_data_type = DataType::kUnspecified;  // compute_data_type
  AttentionKernel attention = AttentionKernel::kFlash;
  // Whether the output of fused attention is kept as the kernel made it and once more in the order
  // that the matrix behind it reads: Transformer Engine over flash-attention, which has sequences
  // ahead of tokens. Of one sequence the two orders are the same, and nothing is copied.
  bool attention_output_copied = false;
  bool dropout = false;          // of embeddings, attention and branches
  bool adapter_dropout = false;  // of what each adapter reads
  Recomputation recomputation = {};
  LossKind loss = LossKind::kVocabularyParallel;
  int64_t loss_chunk_tokens = 0;  // of kChunked
  ExpertScaling expert_scaling = ExpertScaling::kBeforeDown;
  // Of kBeforeDown: whether one kernel works out the activation function and the scaling, and works
  // them out again for their gradients (Megatron-LM's fused SwiGLU, quick GEGLU and squared ReLU).
  // False: operations of their own, each of which keeps what it reads.
  bool fused_expert_activation = true;
  // Token slots of a GPU's routed experts as a multiple of an even share: how far the busiest GPU
  // is above it, or a capacity factor.
  double expert_load_factor = 1;
};

// Appends to `violations` all that is wrong with `batch` for `spec` and `layout`, which
// CheckArchitecture() and CheckLayout() have passed, under paths that start with `path`.
void CheckMicroBatch(const MicroBatchSpec& batch, const ArchitectureSpec& spec,
                     const ParallelLayout& layout, absl::string_view path,
                     FieldViolations& violations);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_ACTIVATIONS_MICRO_BATCH_H_
