// What a processor is told beside its arithmetic, by whatever name it has there.
#ifndef SEXTANT_GPU_PROBE_HOST_PROCESSOR_HINTS_H_
#define SEXTANT_GPU_PROBE_HOST_PROCESSOR_HINTS_H_

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "gpu_probe/host/simd.h"

namespace sextant {

// Rests a moment in a loop that waits for another thread.
inline void PauseInALoop() {
#if defined(__x86_64__)
  _mm_pause();
#else
  __asm__ volatile("yield");
#endif
}

// Stores 16 bytes: on x86-64 by an instruction that bypasses the caches, on aarch64 by a plain
// store, since those processors detect writes of whole lines. `to` lies at a multiple of 16 bytes.
inline void StorePastCaches(double* to, VectorOf<double, kBaseBytes>::Type value) {
#if defined(__x86_64__)
  _mm_stream_pd(to, value);
#else
  *reinterpret_cast<VectorOf<double, kBaseBytes>::Type*>(to) = value;
#endif
}

// Orders those stores before what the thread stores later.
inline void EndStoresPastCaches() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_HOST_PROCESSOR_HINTS_H_
