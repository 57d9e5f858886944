// The elements of an array that a thread processes, arithmetic with vectors of them, and the report
// of those that are wrong.
#ifndef SEXTANT_GPU_PROBE_CUDA_KERNELS_PLACES_CUH_
#define SEXTANT_GPU_PROBE_CUDA_KERNELS_PLACES_CUH_

// A thread processes every Stride()-th element from FirstPlace() on, so that adjacent threads
// process adjacent elements.
static __device__ unsigned long long FirstPlace() {
  return (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ unsigned long long Stride() { return (unsigned long long)gridDim.x * blockDim.x; }

// Vectors of four numbers.
static __device__ float4 Plus(float4 x, float4 y) {
  return make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}
static __device__ float4 Times(float s, float4 x) {
  return make_float4(s * x.x, s * x.y, s * x.z, s * x.w);
}

// A timed pass. Its launches have the threads a block and up to the blocks a multiprocessor of
// memory/grid.h. All blocks then run at once on every GPU (the smallest multiprocessors have room
// for 1536 threads), and none starts after the others are done.
#define SEXTANT_PASS extern "C" __global__ void __launch_bounds__(256, 6)

// The same places as signed numbers, for loops over matrices.
static __device__ long long FirstOfGrid() {
  return (long long)blockIdx.x * blockDim.x + threadIdx.x;
}
static __device__ long long GridStep() { return (long long)gridDim.x * blockDim.x; }

// The report of a kernel that checks results: the first parameter of each kernel whose name starts
// with check_.
//
// As in kernels.h. Before the kernel the host sets the fields to the values in the comments.
struct Report {
  unsigned long long wrong_count;  // 0
  unsigned long long first_wrong;  // the lowest wrong place; all bits set
};

static __device__ void Tell(Report* report, unsigned long long place) {
  atomicAdd(&report->wrong_count, 1ULL);
  atomicMin(&report->first_wrong, place);
}

#endif  // SEXTANT_GPU_PROBE_CUDA_KERNELS_PLACES_CUH_
