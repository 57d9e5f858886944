// The table of codes that compute a model and its loss: each cell with its source. The framework
// holds the state and moves it (framework.h); DeepSpeed, for one, trains Megatron-LM's code and
// Hugging Face's.
#ifndef SEXTANT_ENGINE_FRAMEWORK_MODEL_CODE_H_
#define SEXTANT_ENGINE_FRAMEWORK_MODEL_CODE_H_

#include <cstdint>

#include "absl/strings/string_view.h"
#include "engine/model/trace/training_choices.h"

namespace sextant {

enum class ModelCode {
  kPlain,         // PyTorch's modules, and the loss of torch.nn.functional
  kMegatron,      // Megatron-LM's, and that of its forks
  kTransformers,  // Hugging Face's models
  kTorchtitan,
  kTorchtune,
  kLlmFoundry,
};
inline constexpr int kModelCodeCount = 6;

// A cell of the table. `source` names the file or document that says so.
template <typename T>
struct Cited {
  T value = {};
  absl::string_view source = "";
};

// The attention that code runs where a run does not say.
enum class AttentionCode {
  kFlashAttention,  // FlashAttention 2 or cuDNN's, which need an Ampere GPU or a later one; scores
                    // in memory on others
  kTorch,           // scaled_dot_product_attention(), one of whose fused kernels runs on all GPUs
  // As kTorch, but for model classes that multiply the scores themselves: HasEagerAttention().
  kByModelClass,
};

// One row of the table.
struct ModelCodeTraits {
  Cited<LossKind> loss = {};
  Cited<AttentionCode> attention = {};
  // The vocabulary is padded to a multiple of this and the tensor parallel size. 0: not padded.
  Cited<int64_t> vocabulary_multiple = {};
  Cited<bool> transformer_engine = {};
  Cited<bool> grouped_experts = {};  // one grouped product for all experts of a GPU
  // One product of query, key and value, and one of gate and up.
  Cited<bool> fused_projections = {};
  Cited<bool> fuses_gated_experts = {};  // one kernel computes and scales gated activations
  Cited<bool> global_buffer = {};        // gathered inputs of the head are in a buffer that stays
  // Tensor parallel ranks gather all logits, and each computes the loss of all of them.
  Cited<bool> whole_logits = {};
  Cited<bool> eager_norms = {};          // RMSNorm is computed in fp32, step by step
  Cited<bool> adapters_cast_input = {};  // each for itself
  Cited<bool> widens_logits = {};        // every loss reads an fp32 copy of the logits
  // Norms, latent projections and the activation functions of grouped experts can be recomputed
  // apart from their layer.
  Cited<bool> recomputes_modules = {};
  Cited<bool> fused_loss = {};  // a loss whose gradient overwrites the logits
  Cited<bool> stages = {};      // can be cut into pipeline stages
};

// "transformers".
absl::string_view ModelCodeName(ModelCode code);

const ModelCodeTraits& CodeTraitsOf(ModelCode code);

// True for classes of transformers that compute softmax over scores in memory in every release, for
// they add a bias to the scores: those of BLOOM, MPT and T5. `model` is a preset's name or a
// config.json's model_type.
// Source: huggingface/transformers, src/transformers/models, modeling_bloom.py (baddbmm() of the
// bias, and softmax() in fp32) @0078a6cd, modeling_mpt.py, modeling_t5.py.
bool HasEagerAttention(absl::string_view model);

// True for classes of transformers that got scaled_dot_product_attention() years after others, so
// that a release of 2023 or 2024 has scores in memory: GPT-2's, OPT's, GPT-NeoX's; or have not got
// it yet: GPT-Neo's, GPT-J's.
// Source: huggingface/transformers, pull requests 31172 (GPT-2), 33298 (OPT) and 31031 (GPT-NeoX).
bool HadEagerAttention(absl::string_view model);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_FRAMEWORK_MODEL_CODE_H_
