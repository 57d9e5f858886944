// The activations of a layer that need a gradient, given its trained tensors: those that
// reverse-mode differentiation has to compute.
#ifndef SEXTANT_ENGINE_MODEL_FLOPS_ACTIVATION_FLOW_H_
#define SEXTANT_ENGINE_MODEL_FLOPS_ACTIVATION_FLOW_H_

#include <cstdint>

#include "engine/model/architecture/architecture_spec.h"
#include "engine/model/architecture/weight_tensor.h"

namespace sextant {

// The activations between the products of a layer, in the order of the forward pass. A norm
// belongs to its output.
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
  kMixer,  // between the first and the last matrix of a mixer, all of it
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
  kExpertInput,  // tokens after routing
  kFeedForwardInner,
  kExpertInner,
  kSharedExpertInner,
  kExpertSum,  // of a token's experts, which the matrix after it widens
  kLayerOutput,
};
inline constexpr int kActivationCount = 26;

// Maps a site of the decoder's own attention to that of cross attention.
constexpr ActivationSite SiteIn(bool cross, ActivationSite site) {
  if (!cross) return site;
  switch (site) {
    case ActivationSite::kAttentionInput:
      return ActivationSite::kCrossInput;
    case ActivationSite::kQuery:
      return ActivationSite::kCrossQuery;
    case ActivationSite::kKey:
      return ActivationSite::kCrossKey;
    case ActivationSite::kValue:
      return ActivationSite::kCrossValue;
    case ActivationSite::kScores:
      return ActivationSite::kCrossScores;
    default:
      return ActivationSite::kCrossHeads;
  }
}

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

// The activations that a layer's tensor reads and makes. The reads of vectors don't matter.
struct WeightSite {
  ActivationSite reads;
  ActivationSet makes;
};

// The site of `tensor`, one of a layer's (AddLayerWeights()).
WeightSite SiteOf(const WeightTensor& tensor);

// The activations that `tensor`, one of `layer`'s, makes. Keys that are values make both.
ActivationSet MadeBy(const WeightTensor& tensor, const LayerSpec& layer);

// All activations that need a gradient, given those that need one at the layer's start and those
// that trained tensors make.
ActivationSet NeedGradient(ActivationSet known, const LayerSpec& layer);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_FLOPS_ACTIVATION_FLOW_H_
