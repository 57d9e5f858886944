// Kernels for several widths of vector registers in one program: a kernel's body is a template
// over the vector, inlined into one function a level; each of those functions alone may use
// the level's instructions, so that the program runs on any x86-64.
#ifndef SEXTANT_GPU_PROBE_HOST_SIMD_H_
#define SEXTANT_GPU_PROBE_HOST_SIMD_H_

#include <cstdint>

namespace sextant {

// Widths of fp32 arithmetic, narrowest first. kAvx2 needs FMA too.
enum class SimdLevel { kSse2, kAvx2, kAvx512 };

// Put before a function whose body may use a level's instructions.
#define SEXTANT_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define SEXTANT_TARGET_AVX512 __attribute__((target("avx512f,prefer-vector-width=512")))

// Put before a body that is inlined into functions of several levels.
#define SEXTANT_INLINE_BODY inline __attribute__((always_inline))

// Vectors that may lie at any element's address, as the compiler spells them.
template <typename Element, int kBytes>
struct VectorOf {
  typedef Element Type __attribute__((vector_size(kBytes), aligned(alignof(Element)), may_alias));
  static constexpr int64_t kLaneCount = kBytes / static_cast<int64_t>(sizeof(Element));
};

inline constexpr int kSse2Bytes = 16;
inline constexpr int kAvx2Bytes = 32;
inline constexpr int kAvx512Bytes = 64;

// What there is one of for each level, e.g. a kernel.
template <typename Kernel>
struct KernelsByLevel {
  Kernel sse2;
  Kernel avx2;
  Kernel avx512;

  constexpr const Kernel& At(SimdLevel level) const {
    if (level == SimdLevel::kAvx512) return avx512;
    return level == SimdLevel::kAvx2 ? avx2 : sse2;
  }
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_SIMD_H_
