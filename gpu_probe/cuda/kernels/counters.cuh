// A multiprocessor's number and the GPU's clock. The tests on a processor replace this file.
#ifndef SEXTANT_GPU_PROBE_CUDA_KERNELS_COUNTERS_CUH_
#define SEXTANT_GPU_PROBE_CUDA_KERNELS_COUNTERS_CUH_

#ifdef __CUDACC__

// Nanoseconds, equal on all multiprocessors (PTX ISA, "Special Registers: %globaltimer"); may tick
// only once a microsecond.
static __device__ unsigned long long GlobalNanoseconds() {
  unsigned long long out;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(out));
  return out;
}

// The multiprocessor that this thread runs on (PTX ISA, "%smid").
static __device__ unsigned Multiprocessor() {
  unsigned out;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(out));
  return out;
}

#endif

#endif  // SEXTANT_GPU_PROBE_CUDA_KERNELS_COUNTERS_CUH_
