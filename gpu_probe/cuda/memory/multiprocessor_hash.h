// What a thread of kernels/multiprocessor.cu has to compute, on the host.
#ifndef SEXTANT_GPU_PROBE_CUDA_MEMORY_MULTIPROCESSOR_HASH_H_
#define SEXTANT_GPU_PROBE_CUDA_MEMORY_MULTIPROCESSOR_HASH_H_

#include <cmath>
#include <cstdint>
#include <cstring>

namespace sextant {

// As the kernel has it, operation by operation: std::fmaf rounds once, as the GPU's does.
inline uint32_t MultiprocessorHash(uint32_t thread, uint32_t step_count) {
  uint32_t hash = thread;
  float x = 0;
  for (uint32_t step = 0; step < step_count; ++step) {
    const uint32_t summand_bits = 0x3F800000U | hash >> 9;
    float summand = 0;
    std::memcpy(&summand, &summand_bits, sizeof(summand));
    x = std::fmaf(x, 0.618034F, summand);
    uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof(bits));
    hash = (hash ^ bits) * 0x9E3779B1U;
    hash ^= hash >> 16;
  }
  return hash;
}

}  // namespace sextant

#endif  // SEXTANT_GPU_PROBE_CUDA_MEMORY_MULTIPROCESSOR_HASH_H_
