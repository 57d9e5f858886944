// Loops over a grid's threads: each processes the places from FirstOfGrid() on, in steps of
// GridStep().
#ifndef SEXTANT_GPU_PROBE_CUDA_KERNELS_GRID_CUH_
#define SEXTANT_GPU_PROBE_CUDA_KERNELS_GRID_CUH_

static __device__ long long FirstOfGrid() {
  return (long long)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ long long GridStep() { return (long long)gridDim.x * blockDim.x; }

#endif  // SEXTANT_GPU_PROBE_CUDA_KERNELS_GRID_CUH_
