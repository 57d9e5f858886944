// FLOPs of a training step by component, pass and mask.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_STEP_FLOPS_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_STEP_FLOPS_H_

#include <array>
#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "engine/base/units.h"
#include "engine/model/architecture/weight_tensor.h"
#include "engine/model/flops/attended_length.h"

namespace sextant {

// The component of a matrix product, in the order of the forward pass.
enum class FlopsComponent {
  kEmbeddingProjection,
  kAttentionQueryKeyValue,
  kAttentionLatent,
  kAttentionScores,  // queries times keys
  kAttentionValues,  // scores times values
  kAttentionOutput,
  kMixer,      // matrices and convolutions of mixers
  kMixerCore,  // their recurrences
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

inline constexpr int kFlopsComponentCount = 17;

// "attention_scores", "routed_experts", ...
absl::string_view FlopsComponentName(FlopsComponent component);

// The passes of one product, or of many.
struct PassFlops {
  Flops forward = {};
  Flops input_gradient = {};   // of activations
  Flops weight_gradient = {};  // of parameters
  Flops recompute = {};        // repeated under the step's RecomputePolicy
  Flops flash_recompute = {};  // scores that fused attention recomputes in its backward pass
  Flops capacity = {};         // padding of experts; negative where tokens are dropped

  // FLOPs that the model's mathematics requires: those of an MFU.
  constexpr Flops Model() const { return forward + input_gradient + weight_gradient; }
  // FLOPs that are computed: those of an HFU, as published (without fused attention's
  // recomputation of the scores) and with it.
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
  int layer_kind = -1;  // index into ArchitectureSpec::layer_kinds; -1: no layer
  ByMask<PassFlops> per_token = {};
};

// "A token" is an output token of the stack with the output head: the decoder, or the encoder
// where there is no decoder.
struct StepFlops {
  int64_t tokens = 0;  // output tokens of the step
  ByMask<PassFlops> per_token = {};
  std::vector<ComponentFlops> components = {};  // in the order of the model; sum to per_token

  const PassFlops& PerToken(MaskConvention mask) const {
    return per_token[static_cast<size_t>(mask)];
  }
  PassFlops PerStep(MaskConvention mask) const {
    return PerToken(mask) * static_cast<double>(tokens);
  }
};

// Adds up products: totals and, on request, by component.

// A product of each token with one matrix, and the gradients that are needed of it.
struct Product {
  double forward = 0;  // FLOPs per token
  bool input_needs_gradient = false;
  bool trained = false;
  bool recomputed = false;
  double capacity = 1;  // FLOPs computed over FLOPs needed
};

// The passes of `product`: the backward pass has one product of the same size for each gradient
// that is needed.
PassFlops PassesOf(const Product& product);

class FlopsTally {
 public:
  explicit FlopsTally(bool by_component) : by_component_(by_component) {}

  // Products added from here on belong to this part and kind of layer (-1: none).
  void GoTo(ModelPart part, int layer_kind);

  // The same FLOPs under every mask, or FLOPs by mask.
  void Add(FlopsComponent component, const PassFlops& flops);
  void Add(FlopsComponent component, const ByMask<PassFlops>& flops);

  // Returns everything that was added. Call it once.
  StepFlops Take(int64_t tokens);

 private:
  using Cells = std::array<ByMask<PassFlops>, kFlopsComponentCount>;

  void Flush();

  const bool by_component_;
  PassFlops unmasked_ = {};
  ByMask<PassFlops> masked_ = {};
  ModelPart part_ = ModelPart::kInput;
  int layer_kind_ = -1;
  Cells cells_ = {};
  std::vector<ComponentFlops> components_;
};

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_STEP_FLOPS_H_
