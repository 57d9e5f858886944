// The table of codes that compute a model and its loss: each cell with its source. The framework
// holds the state and moves it (framework.h); DeepSpeed, for one, trains Megatron-LM's code and
// Hugging Face's.
#ifndef SEXTANT_ENGINE_FRAMEWORK_MODEL_CODE_H_
#define SEXTANT_ENGINE_FRAMEWORK_MODEL_CODE_H_

#include <compare>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
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
  // As kTorch, but for model classes that multiply the scores themselves: ClassAttentionOf().
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
  Cited<bool> eager_layers = {};         // step by step: RMSNorm in fp32, gates activated apart
  Cited<bool> adapters_cast_input = {};  // each for itself
  // Softmax of unfused attention is computed in fp32, and cast.
  Cited<bool> wide_softmax = {};
  Cited<LogitCopies> logit_copies = {};  // where a run does not say its release
  // Norms, latent projections and the activation functions of grouped experts can be recomputed
  // apart from their layer.
  Cited<bool> recomputes_modules = {};
  Cited<bool> recomputes_operators = {};  // all but those of a list: SavedProducts
  Cited<bool> fused_loss = {};            // a loss whose gradient overwrites the logits
  Cited<bool> stages = {};                // can be cut into pipeline stages
};

// "transformers".
absl::string_view ModelCodeName(ModelCode code);

const ModelCodeTraits& CodeTraitsOf(ModelCode code);

// A release of a code: 4.45.
struct CodeRelease {
  int first = 0;
  int second = 0;

  friend auto operator<=>(const CodeRelease&, const CodeRelease&) = default;
};

// The release that `text` names: "4.45", "4.45.2", "4.45.0.dev0". Absent: it names none.
absl::optional<CodeRelease> CodeReleaseOf(absl::string_view text);

// How a class of transformers computes attention where a run does not say.
enum class ClassAttention {
  kFused,         // in `release`
  kFusedAtLeast,  // in the present release; no release is given
  kEager,         // multiplies the scores itself, and keeps their softmax
  kEither,        // by releases of the last years
};

// `model` is a preset's name or a config.json's model_type.
ClassAttention ClassAttentionOf(absl::string_view model, absl::optional<CodeRelease> release);

// The copies of logits of a class of `code`. Where no release is given, those of the release that
// has most.
// Source: docs/memory_transients.md, "Eager code".
LogitCopies LogitCopiesOf(ModelCode code, absl::string_view model,
                          absl::optional<CodeRelease> release);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_FRAMEWORK_MODEL_CODE_H_
