// The steps of a layer's backward pass, in the order in which they run.
#ifndef SEXTANT_ENGINE_MEMORY_ACTIVATIONS_BACKWARD_STEP_H_
#define SEXTANT_ENGINE_MEMORY_ACTIVATIONS_BACKWARD_STEP_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace sextant {

// The end of a feed-forward comes back first, and what stands beside routed experts: shared ones,
// or a dense feed-forward.
enum class LayerBranch { kBesideExperts, kFeedForward, kCrossAttention, kAttention };
inline constexpr size_t kLayerBranchCount = 4;

// Of a branch. Attention has all of them; a feed-forward has no heads and no latents.
enum class BackwardStep {
  kAfterNorm,
  kDropout,
  kOutput,     // the matrix that ends the branch: attention's output, down
  kValues,     // unfused: probabilities times values
  kCore,       // fused attention, or scores and their softmax; the activation function
  kHeadNorms,  // of queries and keys
  kUp,         // from latents to heads
  kLatentNorms,
  kInput,  // the matrices that read the branch's input
  kBeforeNorm,
};
inline constexpr size_t kBackwardStepCount = 10;

struct BackwardMoment {
  LayerBranch branch = LayerBranch::kBesideExperts;
  BackwardStep step = BackwardStep::kAfterNorm;

  // Grows along the backward pass.
  constexpr size_t index() const {
    return static_cast<size_t>(branch) * kBackwardStepCount + static_cast<size_t>(step);
  }
};
inline constexpr size_t kBackwardMomentCount = kLayerBranchCount * kBackwardStepCount;

using BytesByMoment = std::array<int64_t, kBackwardMomentCount>;

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MEMORY_ACTIVATIONS_BACKWARD_STEP_H_
