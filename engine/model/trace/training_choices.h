// Choices of a training run that its framework has a default for.
#ifndef SEXTANT_ENGINE_MODEL_TRACE_TRAINING_CHOICES_H_
#define SEXTANT_ENGINE_MODEL_TRACE_TRAINING_CHOICES_H_

namespace sextant {

// The state that data parallel ranks divide instead of each holding all of it.
// Source: Rajbhandari et al. 2020 (arXiv 1910.02054) section 5.
enum class ZeroStage {
  kNone,        // 0: every rank holds all
  kOptimizer,   // 1: optimizer buffers and master weights
  kGradients,   // 2: and gradients
  kParameters,  // 3: and weights, gathered unit by unit (ZeRO-3, FSDP)
};

enum class LossKind {
  kPlain,               // keeps logits, which stay the model's output, and their fp32 softmax
  kVocabularyParallel,  // keeps the fp32 softmax, computed in place of the logits (Megatron-LM)
  kFused,               // keeps logits, which their gradient overwrites
  kChunked,             // computes gradients in the forward pass, by chunks of tokens
  // As kVocabularyParallel, in compiled steps, one of which makes an fp32 copy of all logits:
  // Megatron-LM's cross_entropy_loss_fusion before it moved that step out.
  kVocabularyParallelCompiled,
};

// The fp32 copies that a loss on whole logits reads (transformers, by release).
enum class LogitCopies {
  kNone,     // the logits themselves
  kOutput,   // one, which is the model's output, and one without each sequence's last token
  kShifted,  // in addition to the output: one, and one without each sequence's last token
  kOne,      // in addition to the output
};

// How context parallel ranks, which hold parts of each sequence, compute attention.
enum class ContextParallelKind {
  // Keys and values pass from rank to rank, and each rank attends with its own queries.
  // Source: Liu et al. 2023 (arXiv 2310.01889).
  kRing,
  // Ranks exchange parts of sequences for parts of heads, attend over whole sequences and exchange
  // the output back. Source: Jacobs et al. 2023 (arXiv 2309.14509) section 3.
  kAllToAll,
};

// How an optimizer's step goes over the parameters.
enum class OptimizerLoop {
  kFused,    // one kernel computes all of a parameter's step
  kForeach,  // an operation at a time, over all parameters at once (torch.optim)
  kForLoop,  // an operation and a parameter at a time
};

// The time during which gradients have memory.
enum class GradientLifetime {
  kAlways,        // buffers made once (Megatron-LM, DeepSpeed)
  kFromBackward,  // each from its backward pass to the optimizer step (PyTorch's .grad)
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_TRACE_TRAINING_CHOICES_H_
