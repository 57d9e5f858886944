// One tensor that the forward pass of a micro-batch saves for its backward pass, and the
// step of that pass that reads it last.
#ifndef SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_TENSOR_H_
#define SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_TENSOR_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/base/units.h"
#include "engine/memory/ledger_row.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

// The branches of a layer in the order of its backward pass. The feed-forward comes first,
// starting with the branch that runs in parallel with routed experts: shared experts or a dense
// feed-forward.
enum class LayerBranch { kWithExperts, kFeedForward, kCrossAttention, kMixer, kAttention };
inline constexpr size_t kLayerBranchCount = 5;

// The steps of a branch, in execution order. Attention has all of them; a feed-forward has no
// heads and no latents.
enum class BackwardStep {
  kAfterNorm,
  kDropout,
  kOutput,     // the last matrix of the branch: attention's output, down
  kValues,     // unfused: probabilities times values
  kCore,       // fused attention, or scores and their softmax; the activation function
  kHeadNorms,  // of queries and keys
  kUp,         // from latents to heads
  kLatentNorms,
  kInput,  // the matrices that read the branch's input
  kBeforeNorm,
};

inline constexpr size_t kBackwardStepCount = 10;

struct BackwardPosition {
  LayerBranch branch = LayerBranch::kWithExperts;
  BackwardStep step = BackwardStep::kAfterNorm;

  // Grows along the backward pass.
  constexpr size_t index() const {
    return static_cast<size_t>(branch) * kBackwardStepCount + static_cast<size_t>(step);
  }
};

inline constexpr size_t kBackwardPositionCount = kLayerBranchCount * kBackwardStepCount;
using BytesByPosition = std::array<int64_t, kBackwardPositionCount>;

// The ranks that divide a tensor.
enum class ActivationCut {
  kContext,         // context parallel ranks
  kSequence,        // context parallel ranks and, with sequence parallelism, tensor parallel ranks,
                    // by tokens
  kTensor,          // context and tensor parallel ranks, by heads, features or vocabulary
  kExpertTokens,    // routed tokens, whole: context parallel ranks, and tensor parallel ranks
                    // divided by those that share an expert
  kExpertFeatures,  // routed tokens, in parts: context and tensor parallel ranks
};

inline constexpr int kActivationCutCount = 5;

// On one GPU, of one micro-batch. size = elements x element_bytes, in each of `layers` layers.
// Views point to literals.
struct ActivationTensor {
  ModelPart part = ModelPart::kDecoder;
  int layer_kind = -1;       // index into ArchitectureSpec::layer_kinds; -1: no layer, or any
  absl::string_view module;  // "attention"
  absl::string_view name;    // "query"
  absl::string_view shape;   // of the whole tensor: "b s a d"; docs/memory.md has the symbols
  RowElements element_kind = RowElements::kNumber;
  DataType data_type = DataType::kUnspecified;  // of numbers
  int64_t element_bytes = 0;
  ActivationCut cut = ActivationCut::kSequence;
  int64_t elements = 0;
  Bytes size = Bytes(0);
  int64_t layers = 1;
  BackwardPosition last_read = {};  // of a layer's tensor: freed after it
  absl::string_view kept_for;       // the part of the backward pass that needs it
  absl::string_view source;
};

using ActivationTensors = std::vector<ActivationTensor>;

// A ledger row with the fields that the tensor has; the caller fills in counts, lifetime and
// reason.
inline LedgerRow LedgerRowOf(LedgerKind kind, const ActivationTensor& tensor) {
  LedgerRow out;
  out.kind = kind;
  out.part = tensor.part;
  out.layer_kind = tensor.layer_kind;
  out.module = tensor.module;
  out.name = tensor.name;
  out.shape = tensor.shape;
  out.element_kind = tensor.element_kind;
  out.data_type = tensor.data_type;
  out.element_bits = tensor.element_bytes * kBitsPerByte;
  out.elements = tensor.elements;
  out.source = tensor.source;
  return out;
}

// The sources of tensors, as rows cite them. docs/memory.md lists those that were read.
namespace activation_source {

// Rows keep views of these.
inline constexpr char kLayer[] = "Korthikanti et al. 2022 (arXiv 2205.05198) section 4.1";
inline constexpr char kEnds[] = "Korthikanti et al. 2022 (arXiv 2205.05198) section 4.3";
inline constexpr char kFullRecompute[] = "Korthikanti et al. 2022 (arXiv 2205.05198) section 5";
inline constexpr char kOperators[] =
    "pytorch/torchtitan, torchtitan/distributed/activation_checkpoint.py";
inline constexpr char kStageOutput[] = "pytorch/pytorch, torch/distributed/pipelining/stage.py";
inline constexpr char kFlash[] = "Dao et al. 2022 (arXiv 2205.14135) section 3.1";
inline constexpr char kWeightGradient[] = "Qi et al. 2023 (arXiv 2401.10241) section 2";
inline constexpr char kChainRule[] = "the chain rule: docs/memory.md";
inline constexpr char kBlock[] = "the chain rule: docs/blocks.md";
inline constexpr char kLatent[] = "DeepSeek-V2 (arXiv 2405.04434) section 2.1; docs/memory.md";

}  // namespace activation_source

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_TENSOR_H_
