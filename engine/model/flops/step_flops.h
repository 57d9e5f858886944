// FLOPs of a training step: what is computed, in which pass, under which mask.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_STEP_FLOPS_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_STEP_FLOPS_H_

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/base/units.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/flops/attended_length.h"

namespace sextant {

// What a matrix product is of, in the order of the forward pass.
enum class FlopsComponent {
  kEmbeddingProjection,
  kAttentionQueryKeyValue,
  kAttentionLatent,
  kAttentionScores,  // queries times keys
  kAttentionValues,  // scores times values
  kAttentionOutput,
  kRouter,
  kRoutedExperts,
  kSharedExperts,
  kDenseFeedForward,
  kMultiTokenProjection,
  kPooler,
  kOutputTransform,
  kOutputHead,
  kAdapter,
};
inline constexpr int kFlopsComponentCount = 15;

// "attention_scores", "routed_experts", ...
absl::string_view FlopsComponentName(FlopsComponent component);

// The passes of one product, or of many.
struct PassFlops {
  Flops forward = {};
  Flops input_gradient = {};   // of activations
  Flops weight_gradient = {};  // of parameters
  Flops recompute = {};        // done again under the step's RecomputePolicy
  Flops flash_recompute = {};  // scores that a fused attention computes again in its backward
  Flops capacity = {};         // of padded experts; negative where tokens are dropped

  // What the model's mathematics asks for: the FLOPs of an MFU.
  constexpr Flops Model() const { return forward + input_gradient + weight_gradient; }
  // What is computed: the FLOPs of an HFU, as published (without the fused attention's own
  // second look at the scores) and with it.
  constexpr Flops HardwareWithoutFlashRecompute() const { return Model() + recompute + capacity; }
  constexpr Flops HardwareWithFlashRecompute() const {
    return HardwareWithoutFlashRecompute() + flash_recompute;
  }

  friend constexpr PassFlops operator+(const PassFlops& a, const PassFlops& b) {
    return {.forward = a.forward + b.forward,
            .input_gradient = a.input_gradient + b.input_gradient,
            .weight_gradient = a.weight_gradient + b.weight_gradient,
            .recompute = a.recompute + b.recompute,
            .flash_recompute = a.flash_recompute + b.flash_recompute,
            .capacity = a.capacity + b.capacity};
  }
  friend constexpr PassFlops operator*(const PassFlops& a, double k) {
    return {.forward = a.forward * k,
            .input_gradient = a.input_gradient * k,
            .weight_gradient = a.weight_gradient * k,
            .recompute = a.recompute * k,
            .flash_recompute = a.flash_recompute * k,
            .capacity = a.capacity * k};
  }
};

// A component in one part of the model and one kind of layer.
struct ComponentFlops {
  FlopsComponent component;
  ModelPart part;
  int layer_kind = -1;  // in ArchitectureSpec::layer_kinds; -1: of no layer
  ByMask<PassFlops> per_token = {};
};

// "A token" is one that comes out of the stack with the output head: the decoder's, or the
// encoder's where there is no decoder.
struct StepFlops {
  int64_t tokens = 0;  // such tokens of the step
  ByMask<PassFlops> per_token = {};
  std::vector<ComponentFlops> components = {};  // in the order of the model; sum to per_token

  const PassFlops& PerToken(MaskConvention mask) const {
    return per_token[static_cast<size_t>(mask)];
  }
  PassFlops PerStep(MaskConvention mask) const {
    return PerToken(mask) * static_cast<double>(tokens);
  }
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_STEP_FLOPS_H_
