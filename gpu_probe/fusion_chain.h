// A chain of elementwise operations on fp32 rows, as the end of a model's layer has them:
//   1. y = s x            2. y = y + bias[channel]
//   3. y = g(y)           4. y = y + residual
// g(y) = y (0.5 + y (0.39894228 - 0.06649038 y^2)): GELU's first terms of Taylor's series.
#ifndef SEXTANT_GPU_PROBE_FUSION_CHAIN_H_
#define SEXTANT_GPU_PROBE_FUSION_CHAIN_H_

#include <cstdint>

namespace sextant::probe {

inline constexpr int kFusionOperationCount = 4;
inline constexpr int64_t kFusionChannelCount = 1024;  // elements of a row
inline constexpr double kActivationLinear = 0.5;
inline constexpr double kActivationSquare = 0.39894228;
inline constexpr double kActivationFourth = -0.06649038;

// Arrays that a pass reads and writes: one each, or three where the residual is read too.
inline constexpr double kUnfusedArrayCount = 2 + 2 + 2 + 3;
inline constexpr double kFusedArrayCount = 3;

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_FUSION_CHAIN_H_
