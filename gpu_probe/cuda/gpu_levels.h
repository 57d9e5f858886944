// The order in which a GPU is measured: plans need the first levels most.
#ifndef SEXTANT_GPU_PROBE_CUDA_GPU_LEVELS_H_
#define SEXTANT_GPU_PROBE_CUDA_GPU_LEVELS_H_

namespace sextant {

// Values of Point::level.
enum GpuLevel {
  kBf16Anchors = 1,
  kSustainedRates,
  kFp8Anchors,
  kMemoryPasses,
  kRestOfGrids,
  kExchanges,
  kAttention,
};

// Seconds to prepare a point that is not known yet: mostly the first load of its kernel. Believed
// to be below 15 ms on any GPU; not measured yet.
inline constexpr double kAssumedGpuPreparationSeconds = 0.02;

// Seconds to compile a kernel of attention. cuDNN 9.19 takes 0.5 to 2 s on a processor of 2 GHz.
inline constexpr double kAssumedFirstCompileSeconds = 3;
inline constexpr double kAssumedCompileSeconds = 1.5;

// The least budget with which STANDARD measures attention; FULL always does.
inline constexpr double kAttentionBudgetSeconds = 8;

// Seconds to drop the context and end the process. Believed; not measured yet.
inline constexpr double kGpuEndingSeconds = 0.25;

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_GPU_LEVELS_H_
