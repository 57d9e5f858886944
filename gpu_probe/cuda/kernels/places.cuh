// Which elements of an array a thread works on: from FirstPlace() on every Stride()-th, so that
// neighbouring threads work on neighbouring elements.
#ifndef SEXTANT_GPU_PROBE_CUDA_KERNELS_PLACES_CUH_
#define SEXTANT_GPU_PROBE_CUDA_KERNELS_PLACES_CUH_

static __device__ unsigned long long FirstPlace() {
  return (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ unsigned long long Stride() { return (unsigned long long)gridDim.x * blockDim.x; }

// A timed pass. Its launches have so many threads a block, and up to so many blocks a
// multiprocessor, as memory/grid.h has it. All blocks then run at once on every GPU (the smallest
// multiprocessors have room for 1536 threads), and none begins when the others are done.
#define SEXTANT_PASS extern "C" __global__ void __launch_bounds__(256, 6)

#endif  // SEXTANT_GPU_PROBE_CUDA_KERNELS_PLACES_CUH_
