// The host's view of the probe's own kernels: their images, which are part of the program, and the
// results that they write and compute.
#ifndef SEXTANT_GPU_PROBE_CUDA_KERNELS_H_
#define SEXTANT_GPU_PROBE_CUDA_KERNELS_H_

#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace sextant::probe {

// One file of kernels/ compiled for several compute capabilities, in the form that the driver's
// cuModuleLoadData() takes.
struct KernelImage {
  const char* name;  // "memory_passes"
  const void* bytes;
  int oldest_cuda = 0;  // whose drivers load it, e.g. 12040 for 12.4
};

// Images of one file are adjacent, in the order in which to try them. Empty where the program was
// built without nvcc.
std::vector<KernelImage> KernelImages();

// The report of a kernel that checks results, as in kernels/places.cuh.
struct GpuCheckReport {
  uint64_t wrong_count = 0;
  uint64_t first_wrong = ~uint64_t{0};
};
static_assert(sizeof(GpuCheckReport) == 16);

// The result of a thread of kernels/multiprocessor.cu, operation by operation: std::fmaf rounds
// once, as the GPU's does.
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

}  // namespace sextant::probe

#endif  // SEXTANT_GPU_PROBE_CUDA_KERNELS_H_
