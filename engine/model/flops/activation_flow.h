// Which activations of a layer need a gradient, given what of it is trained: what reverse-mode
// differentiation has to work out, and what it can leave out.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_ACTIVATION_FLOW_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_ACTIVATION_FLOW_H_

#include <cstdint>

#include "engine/model/architecture/layer_spec.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

// What lies between the products of a layer, in the order of the forward pass. A norm belongs to
// what it makes.
enum class ActivationSite {
  kLayerInput,
  kAttentionInput,
  kQueryLatent,
  kKeyValueLatent,
  kQuery,
  kKey,
  kValue,
  kScores,
  kHeads,  // scores times values
  kAfterAttention,
  kEncoderOutput,
  kCrossInput,
  kCrossQuery,
  kCrossKey,
  kCrossValue,
  kCrossScores,
  kCrossHeads,
  kAfterCrossAttention,
  kFeedForwardInput,
  kExpertInput,  // tokens as they were routed
  kFeedForwardInner,
  kExpertInner,
  kSharedExpertInner,
  kLayerOutput,
};
inline constexpr int kActivationCount = 24;

class ActivationSet {
 public:
  constexpr ActivationSet() = default;
  constexpr ActivationSet(ActivationSite a)  // NOLINT: a set of one, by design
      : bits_(uint32_t{1} << static_cast<int>(a)) {}

  constexpr bool Has(ActivationSite a) const { return (bits_ & ActivationSet(a).bits_) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr ActivationSet operator|(ActivationSet a, ActivationSet b) {
    a.bits_ |= b.bits_;
    return a;
  }

 private:
  uint32_t bits_ = 0;
};

// Where a tensor of a layer stands. Vectors read nothing that matters.
struct WeightSite {
  ActivationSite reads;
  ActivationSet makes;
};

// `tensor` is one of a layer's (AddLayerWeights()).
WeightSite SiteOf(const WeightTensor& tensor);

// All activations that need a gradient, given those that do before the layer has done anything,
// and those that trained tensors make.
ActivationSet NeedGradient(ActivationSet known, const LayerSpec& layer);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_ACTIVATION_FLOW_H_
