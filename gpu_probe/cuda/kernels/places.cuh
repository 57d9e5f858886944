// The elements of an array that a thread processes: every Stride()-th from FirstPlace() on, so that
// adjacent threads process adjacent elements.
#ifndef SEXTANT_GPU_PROBE_CUDA_KERNELS_PLACES_CUH_
#define SEXTANT_GPU_PROBE_CUDA_KERNELS_PLACES_CUH_

static __device__ unsigned long long FirstPlace() {
  return (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ unsigned long long Stride() { return (unsigned long long)gridDim.x * blockDim.x; }

// A timed pass. Its launches have the threads a block and up to the blocks a multiprocessor of
// memory/grid.h. All blocks then run at once on every GPU (the smallest multiprocessors have room
// for 1536 threads), and none starts after the others are done.
#define SEXTANT_PASS extern "C" __global__ void __launch_bounds__(256, 6)

#endif  // SEXTANT_GPU_PROBE_CUDA_KERNELS_PLACES_CUH_
