// Runs kernels of gpu_probe/cuda/kernels on a processor, one thread after the other: include this,
// then the .cu file. For kernels whose threads neither wait for each other nor shuffle, as all of
// the probe's.
#ifndef SEXTANT_TESTS_GPU_PROBE_CUDA_KERNELS_EMULATION_H_
#define SEXTANT_TESTS_GPU_PROBE_CUDA_KERNELS_EMULATION_H_

#include <algorithm>
#include <cmath>
#include <cstring>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(...)

struct Dimensions {
  unsigned x = 1;
  unsigned y = 1;
  unsigned z = 1;
};
inline Dimensions gridDim, blockDim, blockIdx, threadIdx;

struct alignas(16) float4 {
  float x, y, z, w;
};
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
struct alignas(16) double2 {
  double x, y;
};

template <typename T>
T atomicAdd(T* to, T value) {
  const T before = *to;
  *to = before + value;
  return before;
}
template <typename T>
T atomicMin(T* to, T value) {
  const T before = *to;
  *to = std::min(before, value);
  return before;
}

// Cache hints, which change no value.
template <typename T>
T __ldcs(const T* from) {
  return *from;
}
template <typename T>
void __stcs(T* to, T value) {
  *to = value;
}

// Each reading of a counter advances a clock of 2 GHz by 100 cycles. Blocks are distributed to 132
// multiprocessors in turn.
inline long long emulated_cycles = 0;
inline long long clock64() { return emulated_cycles += 100; }
inline unsigned long long GlobalNanoseconds() {
  emulated_cycles += 100;
  return 1'000'000 + static_cast<unsigned long long>(emulated_cycles / 2);
}
inline unsigned Multiprocessor() { return blockIdx.x % 132; }

namespace sextant::probe {

// Launches `kernel` with `arguments` as a grid of `block_count` blocks of `thread_count` threads.
template <typename... Parameters, typename... Arguments>
void Emulate(void (*kernel)(Parameters...), unsigned block_count, unsigned thread_count,
             Arguments... arguments) {
  gridDim = {.x = block_count};
  blockDim = {.x = thread_count};
  for (blockIdx.x = 0; blockIdx.x < block_count; ++blockIdx.x) {
    for (threadIdx.x = 0; threadIdx.x < thread_count; ++threadIdx.x) {
      kernel(arguments...);
    }
  }
}

// The report of a kernel that checks results, which is its first parameter.
template <typename Report, typename... Parameters, typename... Arguments>
Report ReportOf(void (*kernel)(Report*, Parameters...), unsigned block_count, unsigned thread_count,
                Arguments... arguments) {
  Report report = {.wrong_count = 0, .first_wrong = ~0ULL};
  Emulate(kernel, block_count, thread_count, &report, arguments...);
  return report;
}

}  // namespace sextant::probe

#endif  // SEXTANT_TESTS_GPU_PROBE_CUDA_KERNELS_EMULATION_H_
