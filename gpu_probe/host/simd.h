// Kernels for several widths of vector registers in one program: a kernel's body is a template
// over the vector, inlined into one function a level; each of those functions alone may use
// the level's instructions, so that the program runs on any x86-64. On another processor all of
// them are compiled for what each such processor has, and the narrowest is used.
#ifndef SEXTANT_GPU_PROBE_HOST_SIMD_H_
#define SEXTANT_GPU_PROBE_HOST_SIMD_H_

#include <cstdint>

namespace sextant {

// Widths of fp32 arithmetic, narrowest first. kBase is SSE2 on x86-64, and NEON on aarch64. kAvx2
// needs FMA too.
enum class SimdLevel { kBase, kAvx2, kAvx512 };

// Put before a function whose body may use a level's instructions. SEXTANT_BASE is kBase's name.
#if defined(__x86_64__)
#define SEXTANT_TARGET_AVX2 __attribute__((target("avx2,fma")))
#define SEXTANT_TARGET_AVX512 __attribute__((target("avx512f,prefer-vector-width=512")))
#define SEXTANT_BASE "sse2"
inline constexpr bool kBaseHas32Registers = false;
#elif defined(__aarch64__)
#define SEXTANT_TARGET_AVX2
#define SEXTANT_TARGET_AVX512
#define SEXTANT_BASE "neon"
inline constexpr bool kBaseHas32Registers = true;
#else
#error "sextant-probe measures x86-64 and aarch64"
#endif

// Put before a body that is inlined into functions of several levels.
#define SEXTANT_INLINE_BODY inline __attribute__((always_inline))

// Vectors that may lie at any element's address, as the compiler spells them.
template <typename Element, int kBytes>
struct VectorOf {
  typedef Element Type __attribute__((vector_size(kBytes), aligned(alignof(Element)), may_alias));
  static constexpr int64_t kLaneCount = kBytes / static_cast<int64_t>(sizeof(Element));
};

inline constexpr int kBaseBytes = 16;
inline constexpr int kAvx2Bytes = 32;
inline constexpr int kAvx512Bytes = 64;

// What there is one of for each level, e.g. a kernel.
template <typename Kernel>
struct KernelsByLevel {
  Kernel base;
  Kernel avx2;
  Kernel avx512;

  constexpr const Kernel& At(SimdLevel level) const {
    if (level == SimdLevel::kAvx512) return avx512;
    return level == SimdLevel::kAvx2 ? avx2 : base;
  }
};

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_SIMD_H_
