// Random numbers that fp32 adds and multiplies without rounding, so that results can be compared
// bit for bit.
#ifndef SEXTANT_GPU_PROBE_CUDA_KERNELS_WHOLE_CUH_
#define SEXTANT_GPU_PROBE_CUDA_KERNELS_WHOLE_CUH_

#include "gpu_probe/cuda/kernels/random.cuh"

// A whole number for `place`, from -2^19 to 2^19 - 1, all equally frequent.
static __device__ float RandomWhole(unsigned long long place) {
  return (float)((int)(RandomBits(place) >> 44) - (1 << 19));
}

#endif  // SEXTANT_GPU_PROBE_CUDA_KERNELS_WHOLE_CUH_
