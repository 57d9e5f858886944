// Upper ends far beyond any model, low enough that sums of a handful of sizes, and products of
// two, can't overflow an int64; CountWeights() checks all products of more.
#ifndef SEXTANT_ENGINE_MODEL_ARCHITECTURE_SIZE_LIMITS_H_
#define SEXTANT_ENGINE_MODEL_ARCHITECTURE_SIZE_LIMITS_H_

#include <cstdint>

namespace sextant {

inline constexpr int64_t kMaxLayerCount = 1'000'000;  // of a run, and of a stack
inline constexpr int64_t kMaxLayerKinds = 128;
inline constexpr int64_t kMaxLayerRuns = 4096;  // of a stack
inline constexpr int64_t kMaxHiddenSize = 10'000'000;
inline constexpr int64_t kMaxFeedForwardSize = 100'000'000;
inline constexpr int64_t kMaxHeadCount = 1'000'000;
inline constexpr int64_t kMaxHeadSize = 1'000'000;
inline constexpr int64_t kMaxExpertCount = 1'000'000;
inline constexpr int64_t kMaxVocabularySize = 1'000'000'000;
inline constexpr int64_t kMaxSpan = 1'000'000'000'000;  // tokens of a window or a chunk

}  // namespace sextant

#endif  // SEXTANT_ENGINE_MODEL_ARCHITECTURE_SIZE_LIMITS_H_
