// One tensor that the forward pass of a micro-batch leaves behind for its backward pass.
#ifndef SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_TENSOR_H_
#define SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_TENSOR_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/base/units.h"
#include "engine/memory/activations/backward_step.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

// Among which ranks a tensor is divided.
enum class ActivationCut {
  kContext,         // those of context parallelism
  kSequence,        // and, under sequence parallelism, those of tensor parallelism, by tokens
  kTensor,          // those of context and of tensor parallelism, by heads, features or vocabulary
  kExpertTokens,    // routed tokens, whole: those of context parallelism, and as many of tensor
                    // parallelism as share no expert
  kExpertFeatures,  // routed tokens, in parts: those of context and of tensor parallelism
};
inline constexpr int kActivationCutCount = 5;

// "context", "sequence", ...
absl::string_view ActivationCutName(ActivationCut cut);

// On one GPU, of one micro-batch. size = elements x element_bytes, in each of `layers` layers.
// Views are of literals: never freed.
struct ActivationTensor {
  ModelPart part = ModelPart::kDecoder;
  int layer_kind = -1;       // in ArchitectureSpec::layer_kinds; -1: of no layer, or of any
  absl::string_view module;  // "attention"
  absl::string_view name;    // "query"
  absl::string_view shape;   // of the whole tensor in words: "b s a d"; docs/memory.md has them
  absl::string_view data_type;
  int64_t element_bytes = 0;
  ActivationCut cut = ActivationCut::kSequence;
  int64_t elements = 0;
  Bytes size = Bytes(0);
  int64_t layers = 1;
  BackwardMoment last_read = {};  // of a layer's: freed behind it
  absl::string_view kept_for;     // what of the backward pass needs it
  absl::string_view source;
};

using ActivationTensors = std::vector<ActivationTensor>;

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_ACTIVATIONS_ACTIVATION_TENSOR_H_
