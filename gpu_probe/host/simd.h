// Kernels for several widths of vector registers in one program. A kernel's body is a template over
// the vector, inlined into one function a level; only those functions use the level's instructions,
// so that the program runs on any x86-64. For other processors all levels are compiled for the
// architecture's baseline, and the narrowest is used.
#ifndef SEXTANT_GPU_PROBE_HOST_SIMD_H_
#define SEXTANT_GPU_PROBE_HOST_SIMD_H_

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include <cstdint>

namespace sextant::probe {

// Widths of fp32 arithmetic, narrowest first. kBase is SSE2 on x86-64, and NEON on aarch64. kAvx2
// needs FMA too.
enum class SimdLevel { kBase, kAvx2, kAvx512 };

// Goes before a function whose body may use a level's instructions. SEXTANT_BASE names kBase.
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

// Goes before a body that is inlined into functions of several levels.
#define SEXTANT_INLINE_BODY inline __attribute__((always_inline))

// Vectors without alignment beyond an element's, in the compiler's notation.
template <typename Element, int kBytes>
struct VectorOf {
  typedef Element Type __attribute__((vector_size(kBytes), aligned(alignof(Element)), may_alias));
  static constexpr int64_t kLaneCount = kBytes / static_cast<int64_t>(sizeof(Element));
};

inline constexpr int kBaseBytes = 16;
inline constexpr int kAvx2Bytes = 32;
inline constexpr int kAvx512Bytes = 64;

// One value for each level, e.g. a kernel.
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

// Pauses briefly in a loop that waits for another thread.
inline void PauseInALoop() {
#if defined(__x86_64__)
  _mm_pause();
#else
  __asm__ volatile("yield");
#endif
}

// Stores 16 bytes: on x86-64 by an instruction that bypasses the caches, on aarch64 by a plain
// store, since those processors detect writes of whole lines. `to` is a multiple of 16 bytes.
inline void StorePastCaches(double* to, VectorOf<double, kBaseBytes>::Type value) {
#if defined(__x86_64__)
  _mm_stream_pd(to, value);
#else
  *reinterpret_cast<VectorOf<double, kBaseBytes>::Type*>(to) = value;
#endif
}

// Orders those stores before the thread's later ones.
inline void EndStoresPastCaches() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_HOST_SIMD_H_
