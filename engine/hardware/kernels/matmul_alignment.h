// The slowdown of matrix products whose rows in memory don't fill the matrix units' tiles.
#ifndef SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_ALIGNMENT_H_
#define SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_ALIGNMENT_H_

#include <cstdint>

#include "engine/hardware/kernels/kernel_time.h"
#include "engine/hardware/kernels/matmul_shape.h"

namespace sextant {

// Factors on the time of a product like it with aligned sizes. The low end stays the aligned
// product's: newer libraries may have a kernel for such sizes.
struct MatmulSlowdown {
  double expected = 1;  // of a product bound by arithmetic
  double high = 1;      // at least `expected`

  friend bool operator==(const MatmulSlowdown&, const MatmulSlowdown&) = default;
};

// Published tables have no such sizes, so these are stated (docs/kernels_matmul.md, "Off a multiple
// of 64"). Sizes meant are those that rows in memory have: n and k, and m and n of a weight's
// gradient.
//
// Off a multiple of 64, both above 256. 64 elements of 2 bytes are the 128 that an A100's matrix
// units want for full speed (NVIDIA, Matrix Multiplication Background, 2.2). BLOOM's runs with a
// hidden size of 14400 over 4 or 8 devices (3600, 1800) took 1.25 to 1.55 times longer; models of
// badly chosen sizes up to 1.39 (Anthony et al., arXiv:2401.14489); bf16 squares of 2056 and 2055
// on an RTX 4090 1.74 and 1.35 (pytorch issue 181718). 1.3 is in the middle.
inline constexpr MatmulSlowdown kOffMultipleOf64{.expected = 1.3, .high = 1.55};
// Off a multiple of 8, the 16 bytes of bf16 that older libraries require (the same guide): 1.35 to
// 1.46 in the same issue, 3 in an output layer with such a vocabulary (Netflix, "Scaling LLM
// Post-Training", 2026, at second hand). Cases of 27 times and more (pytorch issues 106469 and
// 146817) are outside of the interval.
inline constexpr MatmulSlowdown kOffMultipleOf8{.expected = 1.3, .high = 3};
// The same in a batch, where the size is a head's: up to 3 times in both products of attention of
// BLOOM's runs with heads of 180. 2 is in the middle.
inline constexpr MatmulSlowdown kBatchOffMultipleOf8{.expected = 2, .high = 3};

// The size, besides n, that rows in memory have.
constexpr int64_t OtherRowSize(const MatmulShape& shape) {
  return shape.pass == MatmulPass::kWeightGradient ? shape.m : shape.k;
}

// True where both sizes are multiples of 64: no slowdown.
constexpr bool IsAligned(const MatmulShape& shape) {
  return (OtherRowSize(shape) | shape.n) % 64 == 0;  // of powers of two: where both are
}

// The stated slowdown of `matmul`; factors of 1: none.
MatmulSlowdown MatmulSlowdownOf(const MatmulBatch& matmul);

// `time` of an aligned product, for one with `slowdown`. What memory bounds hardly slows down, so
// the expected time grows by the share of `work_share` alone, 0 to 1.
KernelTime Slowed(const KernelTime& time, const MatmulSlowdown& slowdown, double work_share);

}  // namespace sextant

#endif  // SEXTANT_ENGINE_HARDWARE_KERNELS_MATMUL_ALIGNMENT_H_
